// Running an image with the machine's resources: its GPUs, its MPI, its files.
//
// The image's tree, the binds, the environment and the command do not depend on the runtime; a runtime only
// turns them into a command line. docs/running.md describes what a program sees.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/oci/reference.h>
#include <xaas/registry/images.h>
#include <xaas/run/rank_images.h>
#include <xaas/run/tree_store.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::run {

// Whose MPI library the program loads. automatic: the host's, if it fits and a launcher started this process.
enum class Mpi { automatic, host, image };

// Whose library the program uses, for one that may come from the host.
struct HostChoice {
  std::string what; // "mpi", "fftw3"
  bool host = false;
  std::string found;  // the host's library; empty: none, or the image's is used
  std::string reason; // for users
};

Json to_json(const HostChoice& choice); // "what", "from" ("host", "image"), "found" (null: nothing), "reason"

// A host file or directory, and where the program sees it.
struct Bind {
  fs::path source;         // absolute
  std::string destination; // absolute
  bool read_only = false;
  bool asked =
      false; // by the user, as it is; else a runtime may leave out read_only, and what it binds itself
  bool optional = false; // left out with a note where the tree has no place for it
  bool operator==(const Bind&) const = default;
};

struct HostAnswer {
  std::string mpi_abi; // of the image's MPI, if it was looked for
  bool mpi = false;    // the host's is used
  std::vector<HostChoice> choices;
  std::vector<Bind> binds;        // below host_libraries
  std::vector<std::string> notes; // for users
};
// Where programs see libraries of the host.
inline constexpr const char* host_libraries = "/.xaas/host";

// Parses SRC[:DST[:ro|rw]]. A relative SRC is below the current directory. not_found if SRC does not exist.
Result<Bind> parse_bind(const std::string& text);

// The parts of the host that decide, so that tests can fake them.
struct Host {
  std::map<std::string, std::string> environment;
  fs::path directory;  // the current one
  fs::path root = "/"; // where /dev and the libraries of GPU drivers are found
};
Host this_host();

struct Request {
  oci::Reference image; // any transport that can be read, or a tree (`rootfs:`), which is run in place
  std::vector<std::string> arguments;    // replace the image's Cmd; empty: the image's
  std::optional<std::string> entrypoint; // replaces the image's; an empty string: none
  bool shell = false;                    // start a shell of the image instead; then no entrypoint
  std::map<std::string, std::string> environment;
  std::vector<Bind> binds;
  std::string directory;                    // inside; empty: see docs/running.md
  std::vector<std::string> runtimes;        // names, in order; empty: the built-in order
  std::vector<std::string> runtime_options; // passed to the runtime before ours
  Mpi mpi = Mpi::automatic;
  // The libraries that must come from the host (names or sonames); no others do. Absent: the libraries that
  // the image prefers, if they fit. `mpi` decides about MPI; with Mpi::automatic and no `host`, MPI also
  // comes from the host if the image prefers it.
  std::optional<std::vector<std::string>> host;
  bool assume_launcher = false; // Mpi::automatic decides as if a launcher had started this process
  bool gpus = true;             // give the program the host's GPUs
  bool check = true;            // check that this machine has what the image was deployed for
  bool details = false;         // if it has not, also report every missing CPU feature
  fs::path trees;               // where images are unpacked (TreeStore)
  registry::Access access;
};

// A command line and its environment. `supervised`: the runtime neither passes signals on nor dies of the
// program's own signal, so start() stays as its parent.
struct Invocation {
  std::vector<std::string> arguments; // the first is the path of the program
  std::map<std::string, std::string> environment;
  bool supervised = false;
  unsigned descriptors = 0; // this many, from 3 on, must be open: Podman passes them on only without gaps
  bool operator==(const Invocation&) const = default;
};

struct Plan {
  std::string runtime;
  Invocation invocation;
  std::string mpi_abi;            // of the image's MPI library, if there is one and the plan needed it
  bool host_mpi = false;          // the program loads the host's
  std::vector<HostChoice> host;   // one entry for each library that was requested or that the image prefers
  std::vector<std::string> notes; // for users
  std::optional<RankImage> rank_image; // of an index, where a launcher started this process
  bool first = true; // this is the first of the ranks that a launcher started, or there is no launcher
  std::optional<TreeUse> use; // keeps the tree from being removed
};

// Decides everything and makes the tree, but starts nothing.
//
// Errors: missing_tool if no runtime works, with a reason for each; unsatisfied if this machine lacks what
// the image was deployed for, or a requested MPI or library of the host does not fit; usage for an unknown
// runtime, or a tree or image without a command; not_found for the program or the source of a bind; storage
// if the tree cannot be made.
Result<Plan> prepare(const Request& request, const Host& host, Progress& progress = no_progress());

// A program of a tree that scripts start, now and later, without xaas.
struct ScriptRequest {
  fs::path tree;                                // of this image
  const oci::Image* image = nullptr;            // its configuration and annotations are read
  std::string program;                          // its path in the tree
  std::vector<Bind> binds;                      // for a container
  std::vector<std::string> runtimes;            // as Request::runtimes
  std::vector<std::string> runtime_options;     // as Request::runtime_options
  Mpi mpi = Mpi::automatic;                     // automatic decides as if a launcher started the program
  std::optional<std::vector<std::string>> host; // as Request::host
};

// Which libraries of the host the program loads. Errors as prepare().
Result<HostAnswer> choose_libraries(const ScriptRequest& request, const Host& host);

// The program's file; of a launcher, that of the weakest target that has it.
std::string behind_launcher(const fs::path& tree, const std::map<std::string, std::string>& annotations,
                            const std::string& path);

// The lines of a shell script that start the program in a container, with the arguments and the variables of
// the script, in its directory, which is the value of the shell's variable `here`. The program sees the
// machine's files that every program sees, the binds, libraries, and the GPUs of this machine. The mount
// points are made in the tree; the script names it `place`. Errors as prepare(); usage for runtimes that do
// not pass all variables on (script_runtime_choices).
struct ScriptLines {
  std::string runtime;
  std::vector<std::string> lines;
};
Result<ScriptLines> script_lines(const ScriptRequest& request, const HostAnswer& libraries, const Host& host,
                                 const fs::path& place);

// The names of all runtimes, in the built-in order; of those that scripts can start; and of all launchers.
std::vector<std::string> runtime_choices();
std::vector<std::string> script_runtime_choices();
std::vector<std::string> launcher_choices();

// The command line for a shell, with the variables that differ from the host's environment.
std::string shell_text(const Invocation& invocation, const Host& host);
// Quoted for a shell if necessary.
std::string shell_text(const std::vector<std::string>& arguments);

// The command line with which `launcher` starts this many ranks (0: not given) for an MPI ABI (empty: no
// MPI).
Result<std::vector<std::string>> launcher_arguments(const std::string& launcher, const std::string& mpi_abi,
                                                    unsigned ranks);

// Becomes the program, and returns only if that fails (missing_tool, failed). If it must stay as the parent,
// it returns the program's exit code, or 128 plus the number of the signal that ended the program.
Result<int> start(const Plan& plan);

} // namespace xaas::run
