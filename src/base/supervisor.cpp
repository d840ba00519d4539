// Nothing of a command outlives the command, nor the process that runs it.
//
// A build is a tree of processes: make, shells, makes below make, compilers. When this process is killed
// (SIGKILL cannot be caught), that tree would run on, and write into directories that nobody wants any more.
// PR_SET_PDEATHSIG alone reaches the direct child only; a process group alone misses what moved to a group of
// its own (timeout, setsid, shells with job control), and nobody is left to signal it.
//
// So a supervisor stands between: it is told of our death by PR_SET_PDEATHSIG, and as a subreaper it becomes
// the parent of every descendant whose own parent is gone. Killing its children until it has none therefore
// kills the whole tree, however it is grouped. It starts no program and reads one file of /proc; where the
// kernel does not offer that (CONFIG_PROC_CHILDREN), the command's process group is what is killed.
//
// It keeps our open files, on purpose: the locks on temporary directories are held until the tree is gone.
// But no pipe and no socket: it is forked without exec, so it has those of commands that other threads run at
// the same time, and as long as it lived they would have no end for who reads them.
// Rejected: a cgroup (needs delegation), a PID namespace (needs user namespaces, which many sites forbid).
#include "supervisor.h"

#include <xaas/base/child.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas {

namespace {

constexpr long grace = 1;     // seconds that what is left has to end by itself
constexpr long patience = 10; // seconds to wait for what was killed: one may hang in a system call

[[noreturn]] void become(const CommandStart& start) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // should the supervisor be killed
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY);
  int failed = 0;
  if (input < 0 || dup2(input, 0) < 0 || dup2(start.output, 1) < 0 || dup2(start.output, 2) < 0)
    failed = errno;
  if (!failed && *start.directory && chdir(start.directory) != 0)
    failed = errno;
  if (!failed && *start.become) {
    (*start.become)(start.status);
    _exit(127);
  }
  if (!failed) {
    plain_signals();
    execve(start.program, start.arguments, start.environment);
    failed = errno;
  }
  [[maybe_unused]] const ssize_t count = write(start.status, &failed, sizeof(failed));
  _exit(127);
}

long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

// The next of `signals`, or 0 after `milliseconds`.
int next_signal(const sigset_t& signals, long milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  const int number = sigtimedwait(&signals, nullptr, &time);
  return number < 0 ? 0 : number;
}

// Kills every child of this process; false if the kernel does not list them.
bool kill_children() {
  const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  char text[4096];
  pid_t child = 0;
  ssize_t count = 0;
  while ((count = read(file, text, sizeof(text))) > 0)
    for (ssize_t i = 0; i < count; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        child = child * 10 + (text[i] - '0');
      } else if (child > 0) {
        kill(child, SIGKILL);
        child = 0;
      }
    }
  close(file);
  return true;
}

bool has_children() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  return !(waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD);
}

// Until no descendant is left: what is killed leaves its children to us.
void kill_all(const sigset_t& signals) {
  const long end = now() + patience * 1000;
  while (has_children() && now() < end) {
    if (!kill_children())
      return;
    next_signal(signals, 20);
  }
}

// What lost its parent during the command and has ended: many would use up the processes that a user may
// have.
void reap_orphans(pid_t command) {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
         info.si_pid != command)
    waitpid(info.si_pid, nullptr, WNOHANG);
}

bool has_ended(pid_t command) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(command), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == command;
}

// The status of a command that ended or was killed; one that hangs in a system call is given up.
int reap(pid_t command, const sigset_t& signals) {
  int status = SIGKILL;
  const long end = now() + patience * 1000;
  while (waitpid(command, &status, WNOHANG) == 0 && now() < end)
    next_signal(signals, 20);
  return status;
}

// A process that still copies the command's output (tee) ends by itself when the command is gone.
void wait_for_rest(const sigset_t& signals) {
  const long end = now() + grace * 1000;
  while (has_children() && now() < end)
    if (next_signal(signals, 20) == SIGUSR1)
      return;
}

} // namespace

void supervise(const CommandStart& start, pid_t parent) {
  setsid(); // no terminal: a command that asks a question there gets an error, and does not stop for ever
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, nullptr);
  if (getppid() != parent)
    _exit(128 + SIGKILL);
  const pid_t command = fork();
  if (command == 0)
    become(start);
  if (command < 0) {
    const int failed = errno;
    [[maybe_unused]] const ssize_t count = write(start.status, &failed, sizeof(failed));
    _exit(127);
  }
  setpgid(command, command);
  close(start.output);
  close_pipes();

  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGUSR1})
    sigaddset(&signals, number);
  long end = 0; // when what was asked to end is killed; 0: not asked
  bool abandoned = false;
  while (!has_ended(command) && !abandoned && (end == 0 || now() < end)) {
    reap_orphans(command);
    const int number = next_signal(signals, end == 0 ? 60'000 : 20);
    abandoned = number == SIGUSR1;
    if (number == SIGTERM && end == 0) {
      kill(-command, SIGTERM);
      end = now() + grace * 1000;
    }
  }
  if (abandoned || end != 0)
    kill(-command, SIGKILL); // its number is still its own: nobody has waited for it
  const int status = reap(command, signals);
  if (!abandoned && end == 0)
    wait_for_rest(signals);
  kill_all(signals);
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

} // namespace xaas
