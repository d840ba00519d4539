// Arguments that several commands share: specs, systems, times.
#pragma once

#include "command.h"

#include <xaas/base/file.h>
#include <xaas/build/build.h>
#include <xaas/discover/draft.h>
#include <xaas/oci/image.h>
#include <xaas/spec/application.h>
#include <xaas/system/system.h>

#include <optional>
#include <string>

namespace xaas::cli {

// A spec and its origin.
struct SpecFile {
  spec::Application application;
  fs::path path;
  fs::path source; // the directory of the sources
  struct FromTree {
    discover::Findings findings;
    discover::Draft draft;
  };
  std::optional<FromTree> from_tree = {}; // where discovery made it
};

// Reads the argument SPEC or SRC: a spec, the xaas.json of a directory, or what discovery finds there (with a
// note). `source_override` is --source, `arch` the architecture to build for.
Result<SpecFile> read_spec(const std::string& argument, const std::string& source_override,
                           const std::string& arch);

// A request to build `source` here, without application and output.
Result<build::Request> new_build_request(const fs::path& source, const std::string& arch);

// The system of --system (default: this machine), with the CPU of --cpu.
Result<system::SystemDescription> system_of(const std::string& file, const std::string& cpu);

// A check of options: an empty text is mostly a variable that is not set.
std::string not_empty(const std::string& text);

// Checks before long work that a file can be written. `option` is for messages.
Result<void> check_output(const std::string& option, const fs::path& path);

// An environment variable; empty if it is not set.
std::string environment(const char* name);

// SOURCE_DATE_EPOCH, if it is set. Usage error if it is not a number of seconds.
Result<std::optional<int64_t>> source_date_epoch();

// The path of this program, for builds that call it.
Result<fs::path> program_path();

} // namespace xaas::cli
