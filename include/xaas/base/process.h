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

// Limits for a program that processes untrusted input. The program also dumps no core, gains no privileges
// and has no open files but the standard ones.
struct ProgramLimits {
  std::chrono::seconds cpu_time{0}; // SIGXCPU at the limit, SIGKILL five seconds later
  uint64_t memory = 0;              // bytes of data
  uint64_t file_size = 0;           // bytes
  uint64_t open_files = 64;
};

struct Command {
  std::vector<std::string> arguments; // arguments[0] is the program, looked up on PATH if it has no slash
  fs::path directory;                 // empty: the current one
  std::map<std::string, std::string> environment; // added to the inherited one; see inherit_environment
  bool inherit_environment = true;
  std::optional<fs::path> output; // stdout and stderr are appended to this file; else both are captured
  uint64_t most_output = uint64_t(1) << 30; // bytes to capture; a command that prints more is ended
  std::function<Result<void>()> watch;      // called about once a second; an error ends the command

  std::optional<fs::path> program = {};  // the file to execute, where arguments[0] is another name
  std::optional<std::string> input = {}; // the content of standard input
  bool inherit_input = false;            // standard input is ours
  bool inherit_output = false;           // standard output and standard error are ours; nothing is captured
  bool drop_errors = false;              // standard error is /dev/null
  bool may_leave_processes = false;      // processes that it started may outlive it, such as a key agent
  std::optional<ProgramLimits> limits = {};

  // For callers that confine untrusted commands.
  std::chrono::milliseconds watch_period{1000};
  // Receives the topmost process of the command before the first call of `watch`.
  std::function<void(pid_t)> started;
  // Receives the same process before an error ends the command, as a last chance to end it cleanly. It must
  // not reap that process; waitid() with WNOWAIT is allowed.
  std::function<void(pid_t)> ending;
  bool at_once = false; // end the command with SIGKILL, without SIGTERM first
  // Called in the new process instead of exec, and expected to exec itself. The standard streams are in
  // place and all signals are blocked. If no program can be started, it writes the errno to `status`; no
  // process that goes on may keep `status` open. `arguments` are not looked up and only appear in messages.
  std::function<void(int status)> become;
};

struct ProcessResult {
  int exit_code = 0; // 128 + signal number if a signal ended it
  std::string output;
};

// Runs a command to its end in a session of its own: standard input is /dev/null unless the command says
// otherwise, and there is no terminal. A non-zero exit is a result, not an error. A program that is missing
// or not executable is missing_tool; one that prints too much is failed. No process of the command outlives
// it by more than a second (see may_leave_processes) or outlives this process, however that ends. On
// interruption the result is an error of kind interrupted; an error of `watch` is the result.
Result<ProcessResult> run_process(const Command& command);

// The absolute path of an executable program on PATH, or of `name` itself if it contains a slash.
std::optional<fs::path> find_program(const std::string& name);

// Makes SIGINT, SIGTERM and SIGHUP set a flag instead of ending the process, so that temporary files are
// removed.
void install_interrupt_handler();
// The number of the signal that asked us to stop, or 0.
int interrupt_signal();
// An error of kind interrupted if we were asked to stop.
Result<void> check_interrupt();

// The memory in bytes that this process and its children may use together: the machine's memory or the
// cgroup's limit, whichever is lower.
uint64_t memory_limit();

// How many jobs to run at once: what affinity, cgroup and memory allow (1 GiB per job), and at most 8 outside
// a batch job, to keep login nodes usable. At least 1.
unsigned default_jobs();

} // namespace xaas
