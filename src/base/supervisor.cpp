// No process of a command outlives the command or the process that runs it.
//
// A build is a tree of processes: make, shells, nested makes, compilers. When this process is killed (SIGKILL
// cannot be caught), that tree would run on and write into abandoned directories. PR_SET_PDEATHSIG alone
// reaches only the direct child; a process group misses processes that moved to a group of their own
// (timeout, setsid, shells with job control), and nobody is left to signal it.
//
// So a supervisor stands between. PR_SET_PDEATHSIG tells it of our death, and as a subreaper it becomes the
// parent of every orphaned descendant. Killing its children until none are left therefore kills the whole
// tree, whatever the groups. It starts no program and reads one file of /proc; where the kernel lacks that
// file (CONFIG_PROC_CHILDREN), it kills the command's process group.
//
// It keeps our open files on purpose: locks on temporary directories are held until the tree is gone. But it
// closes pipes and sockets: it is forked without exec, so it also inherits those of commands that other
// threads run at the same time, whose readers would otherwise never see their end.
// Rejected: a cgroup (needs delegation), a PID namespace (needs user namespaces, which many sites forbid).
#include "supervisor.h"

#include <xaas/base/child.h>
#include <xaas/base/process.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas {

namespace {

constexpr long grace = 1;     // seconds that remaining processes get to end by themselves
constexpr long patience = 10; // seconds to wait for a killed process, which may hang in a system call

bool set_limit(int resource, rlim_t soft, rlim_t hard) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0)
    return false;
  const rlimit wanted{std::min(soft, now.rlim_max), std::min(hard, now.rlim_max)};
  return setrlimit(static_cast<__rlimit_resource_t>(resource), &wanted) == 0;
}

bool apply(const ProgramLimits& limits) {
  const auto time = static_cast<rlim_t>(limits.cpu_time.count());
  constexpr rlim_t until_killed = 5;
  return set_limit(RLIMIT_CORE, 0, 0) && set_limit(RLIMIT_CPU, time, time + until_killed) &&
         set_limit(RLIMIT_DATA, limits.memory, limits.memory) &&
         set_limit(RLIMIT_FSIZE, limits.file_size, limits.file_size) &&
         set_limit(RLIMIT_NOFILE, limits.open_files, limits.open_files) &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool redirect_streams(const CommandStart& start) {
  const int input = start.input < 0 ? open("/dev/null", O_RDONLY) : start.input;
  return input >= 0 && dup2(input, STDIN_FILENO) >= 0 &&
         (start.output < 0 || dup2(start.output, STDOUT_FILENO) >= 0) &&
         (start.errors < 0 || dup2(start.errors, STDERR_FILENO) >= 0);
}

[[noreturn]] void become(const CommandStart& start) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // in case the supervisor is killed
  setpgid(0, 0);
  if (redirect_streams(start) && (!*start.directory || chdir(start.directory) == 0)) {
    if (*start.become) {
      (*start.become)(start.status);
      _exit(127);
    }
    constexpr int first = 3;
    if (start.limits)
      close_files(first, start.status);
    if (!start.limits || apply(*start.limits)) {
      plain_signals();
      execve(start.program, start.arguments, start.environment);
    }
  }
  const int failed = errno;
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

// Repeats until no descendant is left, because killed processes leave their children to us.
void kill_all(const sigset_t& signals) {
  const long end = now() + patience * 1000;
  while (has_children() && now() < end) {
    if (!kill_children())
      return;
    next_signal(signals, 20);
  }
}

// Reaps orphans that ended during the command: many zombies could exhaust the user's process limit.
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

// The status of a command that ended or was killed. One that hangs in a system call is abandoned.
int reap(pid_t command, const sigset_t& signals) {
  int status = SIGKILL;
  const long end = now() + patience * 1000;
  while (waitpid(command, &status, WNOHANG) == 0 && now() < end)
    next_signal(signals, 20);
  return status;
}

// A process that still copies the command's output (tee) ends by itself once the command is gone.
void wait_for_rest(const sigset_t& signals) {
  const long end = now() + grace * 1000;
  while (has_children() && now() < end)
    if (next_signal(signals, 20) == SIGUSR1)
      return;
}

} // namespace

void supervise(const CommandStart& start, pid_t parent) {
  setsid(); // without a terminal, a command that asks a question gets an error instead of waiting forever
  if (!start.may_leave_processes)
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
  for (const int file : {start.input, start.output, start.errors})
    if (file > STDERR_FILENO)
      close(file);
  close_pipes();

  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM, SIGUSR1})
    sigaddset(&signals, number);
  long end = 0; // when to kill a command that was asked to end; 0: not asked
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
    kill(-command, SIGKILL); // not reaped yet, so the number is still its own
  const int status = reap(command, signals);
  const bool ended_itself = !abandoned && end == 0;
  if (ended_itself && !start.may_leave_processes)
    wait_for_rest(signals);
  if (!ended_itself || !start.may_leave_processes)
    kill_all(signals);
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

} // namespace xaas
