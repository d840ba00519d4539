// Confinement of a process that reads what may be hostile: a worker that was forked for it.
//
// Sources: landlock(7), seccomp(2), getrlimit(2).
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace xaas {

// What the process may still do beside computing. Never: programs, other processes, sockets. Without
// Landlock, which paths the calls of a process that uses files reach is not limited.
struct Confinement {
  std::vector<fs::path> readable; // files
  fs::path writable;              // a directory, below which files may be read, made and removed
  uint64_t max_memory = 0;        // bytes of data on top of what it has, and of a file; 0: no limit

  bool uses_files() const { return !readable.empty() || !writable.empty(); }
};

// For good, before anything is read. Without `readable` and `writable` no file can be opened any more; what
// is open stays so. Protections that are missing_confinement() are left out; an error where another cannot be
// put on.
Result<void> confine(const Confinement& confinement);

// Which of "Landlock" and "seccomp" this system does not give a process: an old kernel, an emulator, a
// container's own filter.
std::vector<std::string> missing_confinement();

// In a child, before anything else: standard input is empty, `output` and `errors` (open for writing) are
// standard output and standard error, no other descriptor is open, no signal of ours has a handler, and the
// child does not outlive the thread that forked it.
void detach(int output, int errors);

// Exit statuses of a confined process: it ran out of memory (exit_on_no_memory() makes it so); it could not
// be confined.
constexpr int no_memory_status = 251, unconfined_status = 252;
void exit_on_no_memory();

// What became of a child. Waits for it, for a short while, and then kills it: it has nothing more to say.
struct ChildEnd {
  bool exited = false; // else a signal ended it
  int status = 0;      // of the exit; else the signal
};
ChildEnd end_child(pid_t child);

// Tells a child that takes too long: of CPU time, or of time without using any (it was stopped, or sleeps).
class ChildClock {
public:
  ChildClock(pid_t child, double cpu_seconds) : child_(child), cpu_seconds_(cpu_seconds) {}
  // Ask often. Empty, or what was too long.
  std::string overdue();

private:
  pid_t child_;
  double cpu_seconds_, last_cpu_ = 0;
  std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
};

} // namespace xaas
