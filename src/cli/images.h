// What several commands do with images, sources and times.
#pragma once

#include "command.h"

#include <xaas/base/file.h>
#include <xaas/oci/image.h>
#include <xaas/spec/application.h>
#include <xaas/system/system.h>

#include <optional>
#include <string>

namespace xaas::cli {

// A spec and where it was read from.
struct SpecFile {
  spec::Application application;
  fs::path path;
  fs::path source; // the directory of the sources
};

// SPEC, or SRC: its xaas.json, else what discovery finds, which is said. `source_override` is --source;
// `arch` what will be built.
Result<SpecFile> read_spec(const std::string& argument, const std::string& source_override,
                           const std::string& arch);

// The system that --system and --cpu describe: a file, else this machine; then the CPU's name.
Result<system::SystemDescription> system_of(const std::string& file, const std::string& cpu);

// Empty if it is not set.
std::string environment(const char* name);

// SOURCE_DATE_EPOCH, if it is set. Usage error if it is not a number of seconds.
Result<std::optional<int64_t>> source_date_epoch();

// This program, as builds must call it.
Result<fs::path> program_path();

} // namespace xaas::cli
