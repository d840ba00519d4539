// Building: an application spec and its sources become an IR image or a source image.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/base/stopwatch.h>
#include <xaas/device/assembler.h>
#include <xaas/image/bundle.h>
#include <xaas/oci/image.h>
#include <xaas/registry/images.h>
#include <xaas/spec/application.h>
#include <xaas/store/cache.h>

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::build {

struct Request {
  spec::Application application;
  fs::path source;
  oci::Reference output;
  registry::Access access; // where it is in a registry
  std::string arch;
  std::vector<std::string> isa;  // instead of the spec's levels, if not empty
  std::vector<std::string> gpus; // architectures for device code, instead of the spec's, if not empty
  std::vector<std::map<std::string, std::string>> configurations; // instead of the spec's, if not empty
  size_t max_configurations = 64;
  bool strip_debug = false;
  unsigned jobs = 1;
  std::vector<std::string> library_path; // LD_LIBRARY_PATH, where run-time libraries are looked for
  fs::path program;                      // this program; builds call it under the compilers' names
  fs::path logs;                         // where the log of a failed build is kept
  std::optional<store::Cache> cache;     // of outcomes of compiles; absent: nothing is kept for later builds
  bool check_sharing = false;            // compile also what is known, and compare
  std::optional<device::Assembler> assembler; // that must take the device code; absent: nobody asks
  int64_t time = 0;                           // of the image and the files in it, seconds since 1970
};

// Where the time of one configuration went.
struct Steps {
  Seconds configure, build, install;
  Seconds harvest; // tracing what was installed to units and links
};

struct ConfigurationReport {
  std::string id;
  uint64_t units = 0, modules = 0, native_objects = 0, programs = 0;
  uint64_t compiled = 0, reused = 0; // compiles by the front end; known from the cache. With configure checks
  Steps steps;
  Seconds seconds; // of all steps and what is between them
};

struct NativeReport {
  std::string name, reason;
};

// What of this machine may have got into the image. Nothing of it is in the image's metadata.
struct Warning {
  std::string kind;  // "native", "probe", "machine", "path"; docs/command-line.md says what they mean
  std::string file;  // relative to the sources, or installed (begins with `/`); empty: not known
  uint64_t line = 0; // from 1; 0: not known, or no text
  std::string message;
  auto operator<=>(const Warning&) const = default;
};

// What the target builds itself.
struct SourceReport {
  std::vector<std::string> configurations; // ids
  uint64_t files = 0, bytes = 0;           // of the sources, with what was fetched
  uint64_t ignored = 0;                    // files that a .gitignore names
};

struct Report {
  Digest digest;
  std::string revision; // of the sources; empty: not known
  std::vector<ConfigurationReport> configurations;
  uint64_t units = 0, modules = 0; // over all configurations; distinct
  uint64_t unit_bytes = 0, module_bytes = 0;
  uint64_t preprocessed_texts = 0; // distinct ones of these units: what sharing by equal text would keep
  std::vector<NativeReport> native_objects; // distinct, sorted by name
  std::vector<std::string> loaders;         // libraries of the closure that load parts by name (dlopen)
  std::vector<Warning> warnings;            // distinct, sorted
  std::optional<SourceReport> source;       // of a source image, or of an IR image with such configurations
  Seconds write;                            // of the image
  Seconds seconds;                          // of all
};

// Builds every configuration in a private directory, captures it, and writes the image. The sources are not
// written. Configurations with a value that is built from source are not built: the image gets sources and
// toolchain for them. A build that fails: failed error with the compiler's own message as its hint's first
// lines, the configuration, and the log. With `check_sharing` a known outcome that compiling contradicts is a
// failed error that names all of them.
Result<Report> build_ir_image(const Request& request, Progress& progress = no_progress());

// Writes an image with sources and toolchain, of which the target builds every configuration. Nothing is
// built. There is no point `isa`: the compiler of the toolchain gets the target.
Result<Report> build_source_image(const Request& request, Progress& progress = no_progress());

// For several architectures: a request for each, which differ in `arch` and what depends on it, and have one
// output.
struct ArchitectureReport {
  std::string arch;
  Report report;
};
struct IndexReport {
  Digest digest;                          // of the index
  std::vector<ArchitectureReport> images; // in the order of the requests
  Seconds seconds;                        // of all
};
// Builds an IR image for each, and writes an index over them. Of the levels and configurations in a request
// those are left out that are another architecture's.
Result<IndexReport> build_ir_index(const std::vector<Request>& requests, Progress& progress = no_progress());

// What can be told before long work: sources, architecture and output. The others call it.
Result<void> check(const Request& request);

} // namespace xaas::build
