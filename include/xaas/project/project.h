// Drives a project's own build system: configure, build, install for one configuration.
//
// The compiler front door is handed in as ready-made paths; this module knows nothing of capturing.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/result.h>
#include <xaas/base/stopwatch.h>
#include <xaas/project/tree_state.h>
#include <xaas/spec/application.h>
#include <xaas/target/cpu.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::project {

struct Tools {
  fs::path c_compiler, cxx_compiler, fortran_compiler; // fortran may be empty
  fs::path directory;                                  // first on the build's PATH
  fs::path cuda = {}; // a CUDA toolkit, whose programs are next; may be empty
  fs::path rocm = {}; // a ROCm directory, likewise
};

// Where the steps of a build run, if not on this machine as it is: inside an image's tree, for instance,
// where directories have other names, other tools are on PATH, and there is no network.
class BuildPlace {
public:
  virtual ~BuildPlace() = default;
  // As xaas::run; arguments, directory and environment are as the place has them.
  virtual Result<ProcessResult> run(const Command& command) const = 0;
  virtual std::optional<fs::path> find_program(const std::string& name) const = 0;
  // What the place calls one of our paths: of the sources, the build directory, the destination, the copy and
  // the home.
  virtual fs::path inside(const fs::path& path) const = 0;
  virtual std::map<std::string, std::string> environment() const = 0; // that steps start from
};

struct ConfigurationBuild {
  const spec::Application* application = nullptr;
  std::string arch = target::host_arch(); // that the application is built for
  std::vector<std::string> arguments;     // of this configuration, after the spec's own
  std::vector<std::string> gpus;          // architectures for device code; none: as the build says
  fs::path source;                        // never written
  fs::path build;                         // exists and is empty
  fs::path destination;                   // DESTDIR: what is installed appears below it, under the prefix
  fs::path log;                           // commands and their output are appended here
  fs::path copy;                          // where a copy of the sources goes if one is needed beside `build`
  fs::path home;                          // the build's HOME; empty: ours
  std::vector<fs::path> outputs;          // what we write ourselves, and may lie among the sources
  Tools tools;                            // as the place has them
  const BuildPlace* place = nullptr;      // null: this machine
  std::map<std::string, std::string> environment; // on top of the spec's
  unsigned jobs = 1;
};

// The directory that the project's sources are compiled in: a private copy, which for make, commands and
// in-tree builds is the build directory, else the source directory itself. Used to make recorded paths
// independent of the place.
fs::path compiled_source(const ConfigurationBuild& build);

// What the steps of a build took. Copying the sources and making `configure` is part of configuring.
struct StepTimes {
  Seconds configure, build, install;
};

struct Built {
  StepTimes times;
  // Files that appeared or changed in the prefix itself, which a build that honours DESTDIR leaves alone.
  // Only the prefix's upper levels are looked at.
  std::vector<TreeState::Change> outside;
};

// Configures, builds and installs. A step that exits non-zero is a failed error whose message has the step
// and the exit code, and whose output is the lines of the step's output that matter (the compiler's own
// message first: the lines from the first one that looks like `error:` on, else the last 20). A build tool
// that is not on PATH is missing_tool. Afterwards nothing outside `build`, `destination`, `copy` and `log`
// has been written by us.
Result<Built> build(const ConfigurationBuild& build);

// Keeps the log of a failed build where it outlives the build's own directory: in `directory`, under a name
// made of `name`. Empty: it could not be kept.
fs::path keep_log(const fs::path& log, const fs::path& directory, std::string name);

} // namespace xaas::project
