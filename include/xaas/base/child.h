// Starting a child without exec, and ending it.
#pragma once

#include <xaas/base/result.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace xaas {

// The process group of a child: the parent's, its own, or its own in a session without a terminal.
enum class ChildGroup { inherited, own, session };

// Forks a child that calls `work` and exits with status 127 if `work` returns. The child is killed when the
// thread that forked it ends. If this process has other threads, `work` may only make system calls.
// `what` begins the message of an error.
Result<pid_t> fork_child(ChildGroup group, const std::string& what, const std::function<void()>& work);

// For a child that must not reach anything of its parent: empties standard input, redirects standard output
// and standard error to `words`, closes every other descriptor except `answer`, resets signal handlers and
// clears the environment. Returns the new number of `answer`.
int detach(int words, int answer);

// Unblocks all signals and resets those that this program handles or ignores. Call before exec.
void plain_signals();

// Pointers to these strings and a final null, as exec takes them.
std::vector<char*> null_terminated(std::vector<std::string>& strings);

// Closes every descriptor from `first` on, except `kept` (-1: none).
void close_files(int first, int kept = -1);

// Closes every pipe and socket. Makes system calls only.
void close_pipes();

// Writes all of `data`; false if the reader is gone or the file is full.
bool write_all(int fd, std::string_view data);

// Exit statuses of a confined process: it ran out of memory (see exit_on_no_memory()), it could not be
// confined, or its answer exceeds the limit.
constexpr int no_memory_status = 251, unconfined_status = 252, too_large_status = 253;
void exit_on_no_memory();

// How a child ended.
struct ChildEnd {
  bool exited = false; // false: a signal ended it
  int status = 0;      // exit status or signal number
  double cpu_seconds = 0;
};
// Waits briefly for a child that has nothing more to say, then kills it.
ChildEnd end_child(pid_t child);

// Kills a child and its process group.
void kill_child(pid_t child);

// The error for a child that crashed; `what` says how. Damaged input must produce an integrity error, so a
// crash is our fault, and the message says so, unless `fault` names another one.
Error crash_error(const std::string& what, const std::string& fault = {});

// Detects a child that uses too much CPU time, or that makes no progress (stopped or asleep).
class ChildClock {
public:
  ChildClock(pid_t child, double cpu_seconds) : child_(child), cpu_seconds_(cpu_seconds) {}
  // Call often. Returns which limit was exceeded, or an empty string.
  std::string overdue();

private:
  pid_t child_;
  double cpu_seconds_, last_cpu_ = 0;
  std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
};

} // namespace xaas
