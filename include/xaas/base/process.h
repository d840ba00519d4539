// Child processes and interruption.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace xaas {

struct Command {
  std::vector<std::string> arguments; // arguments[0] is the program, looked up on PATH if it has no slash
  fs::path directory;                 // empty: the current one
  std::map<std::string, std::string> environment; // set on top of the inherited one; see inherit_environment
  bool inherit_environment = true;
  std::optional<fs::path> output; // stdout and stderr are appended to this file; else both are captured
  uint64_t most_output = uint64_t(1) << 30; // bytes of what is captured; a command that says more is ended
  std::function<Result<void>()> watch;      // called about once a second; an error ends the command

  // For who keeps what he does not trust in bounds.
  std::chrono::milliseconds watch_period{1000};
  // Told the process above all of the command, before the first watch.
  std::function<void(pid_t)> started;
  // Told the same process before the command is ended for an error: a last chance to end it without leaving
  // something behind. It must not wait for that process, but for a look (WNOWAIT).
  std::function<void(pid_t)> ending;
  bool at_once = false; // what ends the command kills it, and does not ask it first
  // Called in the new process instead of starting a program, which it does itself: with the three standard
  // files in place and all signals blocked. It is given the file to which the number of what failed (errno)
  // is written if no program can be started, and which must be open in no process that goes on. `arguments`
  // are not looked up then, and only said in messages.
  std::function<void(int status)> become;
};

struct ProcessResult {
  int exit_code = 0; // 128 + signal number where a signal ended it
  std::string output;
};

// Runs a command to its end in a session of its own: with standard input at /dev/null, and without a
// terminal. A command that exits non-zero is a result, not an error; one that is not there or no program is
// missing_tool; one that says more than it may is failed. Nothing that it started outlives it by more than a
// second, nor outlives this process, however that ends. When interruption is requested the result is an error
// of kind interrupted; an error of `watch` is the result.
Result<ProcessResult> run_process(const Command& command);

// The absolute path of a program on PATH (or of `name` itself if it has a slash), if it is executable.
std::optional<fs::path> find_program(const std::string& name);

// Makes SIGINT, SIGTERM and SIGHUP set a flag instead of ending the process, so that what is temporary is
// removed.
void install_interrupt_handler();
// The number of the signal that asked us to stop, or 0.
int interrupt_signal();
// An error of kind interrupted if we were asked to stop.
Result<void> check_interrupt();

// The memory in bytes that this process and its children may have together: the machine's, or the cgroup's
// limit.
uint64_t memory_limit();

// How many jobs to run at once: what affinity, cgroup and memory allow (a job is taken to need 1 GiB), and at
// most 8 outside a batch job, so that a login node stays usable. At least 1.
unsigned default_jobs();

} // namespace xaas
