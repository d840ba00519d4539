// The process between this one and a command that it runs: see supervisor.cpp.
#pragma once

#include <functional>
#include <sys/types.h>

namespace xaas {

struct ProgramLimits;

// Everything the command needs, prepared before the fork: between fork and exec only system calls are safe.
struct CommandStart {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;                         // "": the current one
  int input;                                     // becomes standard input; -1: /dev/null
  int output;                                    // becomes standard output; -1: inherited
  int errors;                                    // becomes standard error; -1: inherited
  int status;                                    // receives the errno of a failed start; closed by exec
  const ProgramLimits* limits;                   // null: none
  bool may_leave_processes;                      // see Command
  const std::function<void(int status)>* become; // called instead of exec, unless empty
};

// The supervisor's whole life, in a forked child with all signals blocked. It exits as the command does: with
// its exit code, or with 128 + the number of the signal that ended it. SIGTERM makes it end the command and
// its descendants, SIGUSR1 kill them.
[[noreturn]] void supervise(const CommandStart& start, pid_t parent);

} // namespace xaas
