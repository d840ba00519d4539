// The process between this one and a command that it runs: see supervisor.cpp.
#pragma once

#include <functional>
#include <sys/types.h>

namespace xaas {

// All that the command needs, made before the fork: between fork and exec only system calls are safe.
struct CommandStart {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;                         // "": the current one
  int output;                                    // becomes standard output and error
  int status;                                    // gets the errno of a start that failed; closed by exec
  const std::function<void(int status)>* become; // instead of a program, where it is not empty
};

// The supervisor's whole life, in the child of a fork with all signals blocked. It exits as the command does:
// with its exit code, or with 128 + the number of the signal that ended it. SIGTERM asks it to end the
// command and all that came of it, SIGUSR1 to kill them.
[[noreturn]] void supervise(const CommandStart& start, pid_t parent);

} // namespace xaas
