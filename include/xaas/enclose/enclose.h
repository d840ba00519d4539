// Running the steps of a build inside the tree of an image, or on the machine's own files.
//
// A build is not trusted: it is what somebody else wrote, run with the rights of the person who builds. What
// a step has, whatever the runtime: the tree as its root, read-only; the mounts that it is given; a private
// /tmp and /dev/shm on disk, empty and gone after each command; an own /proc; a /dev of the harmless devices;
// the environment that it is given; an empty standard input. What it has not: a network, also none to
// services of this machine; this user's home; sight of other processes; open files of ours; a terminal;
// privileges. Nothing of it outlives run_inside(). Where a runtime gives less, Enclosure::missing says so.
//
// How the runtimes differ:
//   bwrap         A reviewed program, also where only its setuid form can make namespaces.
//   namespaces    The same by our own means: needs user namespaces and no program.
//   podman        As root, what runs inside is root without capabilities.
//   charliecloud  ch-run, inside namespaces of ours, because it has only those for users and mounts.
//   apptainer     Not as root, where it would be root of this machine.
//   host          No tree: what this machine has is the root, without homes, /run, /tmp and /var. Only when
//                 asked for by name.
// Sources: namespaces(7), user_namespaces(7), mount_namespaces(7), capabilities(7), proc(5).
#pragma once

#include <xaas/base/process.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xaas::enclose {

// A directory or file of the host, and where the build sees it. Both absolute.
struct BuildMount {
  fs::path source;
  std::string destination;
  bool writable = false;
};

// Of one command and all that it starts; looked at several times a second, so that it may have been more for
// a moment. Where one is passed, everything inside is killed and the error is `failed`.
struct BuildLimits {
  uint64_t processes = 4096; // at one time, threads counted; 0: no limit
  // Bytes of all processes together, a shared page counted once; not what lies in a pipe or in a memory file
  // that nobody has mapped. 0: memory_limit(), but for a little.
  uint64_t memory = 0;
  // Bytes by which what is below the writable mounts, the private /tmp and /dev/shm may grow together, with
  // files that are open and have no name any more. 0: no limit.
  uint64_t disk = 0;
  double seconds = 0;      // 0: no limit
  double idle_seconds = 0; // without a new process or any CPU time used; 0: no limit
};

struct Enclosure {
  std::string runtime;            // a name that choose_builder() gave
  fs::path program;               // of the runtime; empty: it has none
  fs::path tree;                  // not with "host"
  std::vector<BuildMount> mounts; // in this order; one may lie below an earlier one
  BuildLimits limits;
  std::vector<std::string> options; // handed to the runtime before ours
  std::vector<std::string> missing; // what of the above this runtime does not give, for people
};

// The first of `names` (empty: all but host, in the order above) that can be used here: it is tried, where
// that takes no tree. Gives runtime, program, options and missing. usage: a name that is not known.
// missing_tool: none serves, with a reason for each. Call it from a process with one thread.
Result<Enclosure> choose_builder(const std::vector<std::string>& names,
                                 const std::vector<std::string>& options = {});
std::vector<std::string> builder_choices();

// Makes the places in the tree at which something is mounted, where they are not there; those that a runtime
// mounts of its own accord, too. Nothing with "host". `storage` if one cannot be made.
Result<void> make_build_mount_points(const Enclosure& enclosure);

// Runs one command to its end: `arguments`, `directory` (empty: /) and `environment` as the build sees them;
// nothing is inherited, PWD is added, and the program is looked up on the PATH of `environment`. Its umask is
// 022. Output as for run_process(). What
// it leaves in its mounts belongs to this user, with the modes that it gave.
//
// Where a mount lies below an earlier one, its place is made there if that is writable.
//
// A program that ends non-zero is a result. missing_tool: there is no such program inside, or the runtime is
// gone. failed: a limit was passed; the enclosure could not be made. usage: a mount that is not two absolute
// paths, or is where every build has something of its own. not_found, storage: a place for a mount is not
// there, or is something else. interrupted: nothing of it is left.
Result<ProcessResult> run_inside(const Enclosure& enclosure, const Command& command);

} // namespace xaas::enclose
