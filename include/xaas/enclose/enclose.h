// Running build steps inside the tree of an image, or on the machine's own files.
//
// A build is untrusted code that runs with the user's rights. Under every runtime a step has: the tree as its
// root, read-only; the given mounts; a private /tmp and /dev/shm on disk, empty at first and removed after
// each command; its own /proc; a /dev with the harmless devices; the given environment; an empty standard
// input. It has no network, not even to services of this machine; no home of the user; no sight of other
// processes; no open files of ours; no terminal; no privileges. None of its processes outlives run_inside().
// Where a runtime gives less, Enclosure::missing says so.
//
// How the runtimes differ:
//   bwrap         A reviewed program. Its setuid form works where users cannot make namespaces.
//   namespaces    The same by our own code: needs user namespaces and no program.
//   podman        When run as root, the step is root without capabilities.
//   charliecloud  ch-run in our own namespaces, because it makes only those for users and mounts.
//   apptainer     Not as root, because the step would be root on this machine.
//   host          No tree: the machine's own root, without homes, /run, /tmp and /var. Used only if asked for
//   by
//                 name.
// Sources: namespaces(7), user_namespaces(7), mount_namespaces(7), capabilities(7), proc(5).
#pragma once

#include <xaas/base/process.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xaas::enclose {

// A host directory or file, and where the build sees it. Both paths are absolute.
struct BuildMount {
  fs::path source;
  std::string destination;
  bool writable = false;
};

// Limits on one command and everything that it starts. They are checked several times a second, so usage can
// exceed them for a moment. At the first one exceeded, everything inside is killed and the error is `failed`.
struct BuildLimits {
  uint64_t processes = 4096; // at one time, including threads; 0: no limit
  // Bytes of all processes together; a shared page counts once. Data in pipes and in memory files that nobody
  // has mapped does not count. 0: slightly less than memory_limit().
  uint64_t memory = 0;
  // Bytes by which everything below the writable mounts, the private /tmp and /dev/shm may grow together,
  // including open files without a name. 0: no limit.
  uint64_t disk = 0;
  double seconds = 0;      // 0: no limit
  double idle_seconds = 0; // without a new process or any CPU time used; 0: no limit
};

struct Enclosure {
  std::string runtime;            // a name that choose_builder() returned
  fs::path program;               // of the runtime; empty: the runtime is not a program
  fs::path tree;                  // empty with "host"
  std::vector<BuildMount> mounts; // in this order; one may lie below an earlier one
  BuildLimits limits;
  std::vector<std::string> options; // passed to the runtime before ours
  std::vector<std::string> missing; // what this runtime does not give of the list above, for users
};

// The first of `names` (empty: all but host, in the order above) that works here. Runtimes that can be tried
// without a tree are tried. Fills in runtime, program, options and missing. Errors: usage for an unknown
// name; missing_tool if none works, with a reason for each. The calling process must have one thread.
Result<Enclosure> choose_builder(const std::vector<std::string>& names,
                                 const std::vector<std::string>& options = {});
std::vector<std::string> builder_choices();

// Makes the mount points in the tree that do not exist, including those that the runtime needs for mounts of
// its own. Does nothing with "host". `storage` if one cannot be made.
Result<void> make_build_mount_points(const Enclosure& enclosure);

// Runs one command to its end. `arguments`, `directory` (empty: /) and `environment` are as the build sees
// them. Nothing is inherited, PWD is added, and the program is looked up on the PATH of `environment`. The
// umask is 022. Output is as for run_process(). Files that the command leaves in its mounts belong to this
// user and keep their modes.
//
// A mount below an earlier one gets its mount point there if the earlier one is writable.
//
// A non-zero exit code is a result. Errors: missing_tool if the program does not exist inside, or the runtime
// is gone; failed if a limit was exceeded or the enclosure could not be made; usage for a mount whose paths
// are not absolute, or that covers something that every build has; not_found or storage if a mount point is
// missing or of the wrong kind; interrupted, and then no process is left.
Result<ProcessResult> run_inside(const Enclosure& enclosure, const Command& command);

} // namespace xaas::enclose
