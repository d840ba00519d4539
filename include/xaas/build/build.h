// Building: an application spec and its sources become an IR image or a source image.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/base/stopwatch.h>
#include <xaas/device/assembler.h>
#include <xaas/image/bundle.h>
#include <xaas/image/warning.h>
#include <xaas/oci/image.h>
#include <xaas/project/project.h>
#include <xaas/registry/images.h>
#include <xaas/spec/application.h>
#include <xaas/store/cache.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::build {

// What a failed build of a configuration left. Its directories still exist.
struct FailedBuild {
  enum class Cause {
    step,            // a step of the build system failed, or could not be run
    sources_written, // the build wrote into its sources
    install,         // it installed nothing, or into the prefix of this machine
    other,
  };
  const project::ConfigurationBuild& build;
  Cause cause;
  std::vector<std::string> steps; // that succeeded: "configure", "build", "install"
  fs::file_time_type configured;  // when "configure" had succeeded; else the earliest time
  const Error& error;
};

struct Request {
  spec::Application application;
  fs::path source;
  oci::Reference output;
  registry::Access access; // for a reference in a registry
  std::string arch;
  fs::path sysroot = {};         // whose headers and libraries the build uses, without links; empty: none
  std::vector<std::string> isa;  // replaces the spec's levels, if not empty
  std::vector<std::string> gpus; // architectures for device code; replaces the spec's, if not empty
  std::vector<std::map<std::string, std::string>> configurations; // replaces the spec's, if not empty
  size_t max_configurations = 64;
  bool strip_debug = false;
  unsigned jobs = 1;
  std::vector<std::string> library_path; // LD_LIBRARY_PATH; run-time libraries are looked for there
  fs::path program;                  // the path of this program, which builds call under the compilers' names
  fs::path logs;                     // where the log of a failed build is kept
  std::optional<store::Cache> cache; // of compile results; absent: nothing is kept for later builds
  bool check_sharing = false;        // also compile what is known, and compare
  std::optional<device::Assembler> assembler; // must accept the device code; absent: no check
  int64_t time = 0;                           // of the image and the files in it, in seconds since 1970

  // For callers that learn from builds.
  bool write_image = true;        // else everything else is done, and the report's digest is that of no image
  bool until_first_write = false; // end a build as soon as it writes into its sources
  std::function<Result<void>()> watch = {}; // as in project::ConfigurationBuild
  std::function<void(const FailedBuild&)> failed = {};
};

// Where the time of one configuration went.
struct Steps {
  Seconds configure, build, install;
  Seconds harvest; // tracing installed files to units and links
};

struct ConfigurationReport {
  std::string id;
  uint64_t units = 0, modules = 0, native_objects = 0, programs = 0;
  uint64_t compiled = 0,
           reused = 0; // front-end runs, and results from the cache; both include configure checks
  // Set if it was not built, because the build of this other configuration showed that it would be the same.
  std::string same_as;
  // The other ISA levels whose build would differ, each with the first command of this one that shows it.
  std::map<std::string, std::string> differences;
  std::vector<std::string> executables; // installed programs that links made, by path
  Digest content;                       // image::content_of
  Steps steps;
  Seconds seconds; // of all steps and the work between them
};

struct NativeReport {
  std::string name, reason;
};

// Traces of this machine that may be in the image, whose metadata has none, and code that stays slow.
using image::Warning;

// What the target builds itself.
struct SourceReport {
  std::vector<std::string> configurations; // ids
  uint64_t files = 0, bytes = 0;           // of the sources, including downloads
  uint64_t ignored = 0;                    // files that a .gitignore names
};

// Modules in prepared form.
struct PreparedReport {
  uint64_t units = 0, modules = 0;         // units that have one; distinct modules
  std::map<std::string, uint64_t> without; // why other units have none, with their number
  Seconds seconds;
};

// The base image, and what of it the programs use.
struct BaseReport {
  std::string name;                   // docker://HOST/NAME@DIGEST, or its digest
  std::vector<std::string> libraries; // that programs take from it
  std::vector<std::string> replaced;  // in place of which the application has its own
};

struct Report {
  Digest digest;
  std::string revision; // of the sources; empty: unknown
  std::vector<ConfigurationReport> configurations;
  uint64_t units = 0, modules = 0; // the sum over all configurations, and distinct modules
  uint64_t unit_bytes = 0, module_bytes = 0;
  uint64_t preprocessed_texts =
      0; // distinct texts of these units: the modules that sharing by equal text would keep
  std::vector<NativeReport> native_objects; // distinct, sorted by name
  std::vector<std::string> loaders;         // libraries of the closure that load others by name (dlopen)
  std::vector<Warning> warnings;            // distinct, sorted
  std::optional<SourceReport>
      source; // for a source image, or an IR image with configurations built from source
  std::optional<PreparedReport> prepared;
  std::optional<BaseReport> base; // absent: `scratch`
  Seconds write;                  // of the image
  Seconds seconds;                // in total
};

// Builds every configuration in a private directory, captures it, and writes the image. Does not write to the
// sources. Configurations with a value that is built from source are not built; the image gets sources and
// toolchain for them. A build that fails is a `failed` error with the configuration, the path of the log, and
// the first lines of the compiler's output. With `check_sharing`, compiles whose result differs from the
// known one are a `failed` error that lists all of them.
Result<Report> build_ir_image(const Request& request, Progress& progress = no_progress());

// Writes an image with sources and toolchain, from which the target builds every configuration. Builds
// nothing. There is no point `isa`: the toolchain's compiler gets the target.
Result<Report> build_source_image(const Request& request, Progress& progress = no_progress());

// For several architectures: one request for each. The requests differ in `arch` and everything that depends
// on it, and share one output.
struct ArchitectureReport {
  std::string arch;
  Report report;
};
struct IndexReport {
  Digest digest;                          // of the index
  std::vector<ArchitectureReport> images; // in the order of the requests
  Seconds seconds;                        // in total
};
// Builds an IR image for each request, and writes an index over them. Levels and configurations of a request
// that belong to another architecture are left out.
Result<IndexReport> build_ir_index(const std::vector<Request>& requests, Progress& progress = no_progress());

// Checks what can be checked before the long work: sources, architecture and output. The other functions call
// it.
Result<void> check(const Request& request);

} // namespace xaas::build
