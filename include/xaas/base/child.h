// A forked child that serves its parent and is not trusted: a worker.
#pragma once

#include <xaas/base/result.h>

#include <chrono>
#include <string>
#include <sys/types.h>

namespace xaas {

// In a child, before anything else: standard input is empty, `output` and `errors` (open for writing) are
// standard output and standard error, no other descriptor is open, no signal of ours has a handler, and the
// child does not outlive the thread that forked it.
void detach(int output, int errors);

// Before a program is started: no signal is blocked, and none has a handler or is ignored of our doing.
void plain_signals();

// Closes every descriptor from `first` on but `kept` (-1: none).
void close_files(int first, int kept = -1);

// Closes every pipe and socket. Makes system calls only.
void close_pipes();

// Exit statuses of a confined process: it ran out of memory (exit_on_no_memory() makes it so); it could not
// be confined; its answer is larger than it may be.
constexpr int no_memory_status = 251, unconfined_status = 252, too_large_status = 253;
void exit_on_no_memory();

// What became of a child. Waits for it, for a short while, and then kills it: it has nothing more to say.
struct ChildEnd {
  bool exited = false; // else a signal ended it
  int status = 0;      // of the exit; else the signal
};
ChildEnd end_child(pid_t child);

// The error of a child that crashed: `what` says how. A damaged input has to end in an error of its own
// (integrity), so a crash counts as our fault, and the message says so.
Error crash_error(const std::string& what);

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
