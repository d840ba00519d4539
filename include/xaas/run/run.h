// Running an image with what the machine has.
//
// The image's tree, the places of the host that it sees, its environment and its command are the same with
// every runtime; a runtime only makes the command line of them. docs/running.md says what a program sees.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/oci/reference.h>
#include <xaas/registry/images.h>
#include <xaas/run/tree_store.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::run {

// Whose MPI library the program loads. automatic: the host's where that fits and a launcher has started us.
enum class Mpi { automatic, host, image };

// Whose a library is that may come from the host.
struct HostChoice {
  std::string what; // "mpi", "fftw3"
  bool host = false;
  std::string found;  // of the host; empty: nothing, or the image's is used
  std::string reason; // for people
};

Json to_json(const HostChoice& choice); // "what", "from" ("host", "image"), "found" (null: nothing), "reason"

// A file or directory of the host, and where the program sees it.
struct Bind {
  fs::path source;         // absolute
  std::string destination; // absolute
  bool read_only = false;
  bool asked =
      false; // by the user, as it is; else a runtime may leave out read_only, and what it binds itself
  bool operator==(const Bind&) const = default;
};

// SRC[:DST[:ro|rw]]; a relative SRC is below the current directory. Without an existing SRC: not_found.
Result<Bind> parse_bind(const std::string& text);

// What of the host decides, so that it can be faked.
struct Host {
  std::map<std::string, std::string> environment;
  fs::path directory;  // the current one
  fs::path root = "/"; // of /dev and the libraries of GPU drivers
};
Host this_host();

struct Request {
  oci::Reference image; // any transport that is read, or a tree (`rootfs:`), which is run as it is
  std::vector<std::string> arguments;    // instead of the image's Cmd; none: that
  std::optional<std::string> entrypoint; // instead of the image's; empty: none
  std::map<std::string, std::string> environment;
  std::vector<Bind> binds;
  std::string directory;                    // inside; empty: see docs/running.md
  std::vector<std::string> runtimes;        // names, in order; empty: the built-in order
  std::vector<std::string> runtime_options; // handed to the runtime before ours
  Mpi mpi = Mpi::automatic;
  // Libraries that must come from the host (names, sonames), and no others; absent: those that the image
  // prefers, where they fit. Of MPI `mpi` speaks; automatic: without `host` also where the image prefers it.
  std::optional<std::vector<std::string>> host;
  bool assume_launcher = false; // Mpi::automatic decides as if a launcher had started us
  bool gpus = true;             // with what the host has of them
  bool check = true;            // that this machine has what the image was deployed for
  fs::path trees;               // where images are unpacked (TreeStore)
  registry::Access access;
};

// A command line and its environment. `supervised`: the runtime neither passes signals on nor ends with the
// program's own signal, so that start() stays between.
struct Invocation {
  std::vector<std::string> arguments; // the first is the program's path
  std::map<std::string, std::string> environment;
  bool supervised = false;
  bool operator==(const Invocation&) const = default;
};

struct Plan {
  std::string runtime;
  Invocation invocation;
  std::string mpi_abi;            // of the image's MPI library, if it was looked for and is there
  bool host_mpi = false;          // the program loads the host's
  std::vector<HostChoice> host;   // of each thing that was asked for, or that the image prefers
  std::vector<std::string> notes; // for people
  bool first = true;              // of the ranks that a launcher started; or there is none
  std::optional<TreeUse> use;     // holds the tree
};

// Decides everything and makes the tree; starts nothing.
//
// missing_tool: no runtime serves (with a reason for each). unsatisfied: this machine lacks what the image
// was deployed for; an MPI or library of the host was asked for and does not fit. usage: an unknown runtime,
// a tree or image without a command. not_found: the program, what is bound. storage: the tree cannot be made.
Result<Plan> prepare(const Request& request, const Host& host, Progress& progress = no_progress());

// The names of all runtimes, in the built-in order, and of launchers.
std::vector<std::string> runtime_choices();
std::vector<std::string> launcher_choices();

// The command line for a shell, with what of the environment differs from the host's.
std::string shell_text(const Invocation& invocation, const Host& host);
// Quoted for a shell where it must be.
std::string shell_text(const std::vector<std::string>& arguments);

// How `launcher` starts a command as so many ranks (0: not said) with an MPI of this ABI (empty: none).
Result<std::vector<std::string>> launcher_arguments(const std::string& launcher, const std::string& mpi_abi,
                                                    unsigned ranks);

// Becomes the program: returns only if that fails (missing_tool, failed), or, where it has to stay between,
// with the program's exit code, 128 and the signal's number if one ended it.
Result<int> start(const Plan& plan);

} // namespace xaas::run
