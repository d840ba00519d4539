// Drives a project's own build system: configure, build and install for one configuration.
//
// The compilers are given as paths; this module knows nothing of capturing.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/result.h>
#include <xaas/base/stopwatch.h>
#include <xaas/project/tree_state.h>
#include <xaas/spec/application.h>
#include <xaas/target/cpu.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::project {

struct Tools {
  fs::path c_compiler, cxx_compiler, fortran_compiler; // fortran may be empty
  fs::path directory;                                  // comes first on the build's PATH
  fs::path cuda = {}; // a CUDA toolkit, whose programs come next on PATH; may be empty
  fs::path rocm = {}; // a ROCm directory, likewise
};

// Where the steps of a build run, if not directly on this machine. Inside an image's tree, for example,
// directories have other names, other tools are on PATH, and there is no network.
class BuildPlace {
public:
  virtual ~BuildPlace() = default;
  // As xaas::run, with arguments, directory and environment as the place has them.
  virtual Result<ProcessResult> run(const Command& command) const = 0;
  virtual std::optional<fs::path> find_program(const std::string& name) const = 0;
  // The place's name for one of our paths: the sources, the build directory, the destination, the copy and
  // the home.
  virtual fs::path inside(const fs::path& path) const = 0;
  virtual std::map<std::string, std::string> environment() const = 0; // the environment that steps start from
};

struct ConfigurationBuild {
  const spec::Application* application = nullptr;
  std::string arch = target::host_arch(); // of the application
  fs::path sysroot = {};                  // whose headers and libraries the build uses; empty: none
  std::vector<std::string> arguments;     // of this configuration, after those of the spec
  std::vector<std::string> gpus;          // architectures for device code; empty: as the project's build says
  fs::path source;                        // is never written to
  fs::path build;                         // an existing empty directory
  fs::path destination;                   // DESTDIR: installed files appear below it, under the prefix
  fs::path log;                           // commands and their output are appended here
  fs::path copy;                          // for a copy of the sources, if one is needed besides `build`
  fs::path home;                          // the build's HOME; empty: this process's
  std::vector<fs::path> outputs;          // files that we write ourselves and that may lie among the sources
  Tools tools;                            // as the place names them
  const BuildPlace* place = nullptr;      // null: this machine
  std::map<std::string, std::string> environment; // in addition to the spec's
  unsigned jobs = 1;
  // Called about once a second while a step runs. An error ends the build and is its result.
  std::function<Result<void>()> watch = {};
  // Called after each step ("configure", "build", "install") that succeeded, likewise.
  std::function<Result<void>(const std::string& step)> succeeded = {};

  // Whether programs of the build may be unable to run on this machine.
  bool is_cross_build() const { return arch != target::host_arch() || !sysroot.empty(); }
};

// The directory in which the project's sources are compiled: for make, commands and in-tree builds a private
// copy, which is the build directory; otherwise the source directory itself. It makes recorded paths
// independent of the place.
fs::path compiled_source(const ConfigurationBuild& build);

// The time that each step took. Copying the sources and making `configure` count as configuring.
struct StepTimes {
  Seconds configure, build, install;
};

struct Built {
  StepTimes times;
  // Files that appeared or changed in the prefix itself, which a build that honors DESTDIR does not touch.
  // Only the upper levels of the prefix are checked.
  std::vector<TreeState::Change> outside;
};

// Configures, builds and installs. A step that exits non-zero is a `failed` error with the step and the exit
// code; its output has the relevant lines of the step's output: those from the first one that looks like
// `error:`, or the last 20. A build tool that is not on PATH is missing_tool. This module writes only to
// `build`, `destination`, `copy` and `log`.
Result<Built> build(const ConfigurationBuild& build);

// Copies the tree `from` into the existing directory `to`. Permission bits and times are kept, so that make
// comes to the same decisions. `.git`, sockets, pipes, devices and everything in `skip` (for builds inside
// the sources) are left out. Symbolic links stay links, but none leads into the original tree.
Result<void> copy_sources(const fs::path& from, const fs::path& to, const std::vector<fs::path>& skip);

// Moves the log of a failed build to `directory`, where it outlives the build, under a name made from `name`.
// Empty: it could not be kept.
fs::path keep_log(const fs::path& log, const fs::path& directory, std::string name);

} // namespace xaas::project
