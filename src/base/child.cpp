#include <xaas/base/child.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace xaas {

void close_files(int first, int kept) {
  if (kept >= first) {
    for (int fd = first; fd < kept; ++fd)
      close(fd);
    first = kept + 1;
  }
  if (close_range(static_cast<unsigned>(first), ~0u, 0) == 0)
    return;
  // Kernels before 5.9 (which clusters run) have no close_range.
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < (limit > 0 && limit < 65536 ? static_cast<int>(limit) : 65536); ++fd)
    close(fd);
}

void plain_signals() {
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD})
    sigaction(number, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void detach(int output, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0); // the terminal's signals are the parent's
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    std::signal(number, SIG_DFL);
  // An empty standard input: a pipe that nobody writes to, because an empty root has no /dev/null. First to
  // places that none of the three is at.
  int nothing[2];
  constexpr int free = 3;
  if (pipe(nothing) != 0 || (output = fcntl(output, F_DUPFD, free)) < 0 ||
      (errors = fcntl(errors, F_DUPFD, free)) < 0 || dup2(nothing[0], STDIN_FILENO) < 0 ||
      dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
    _exit(unconfined_status);
  close_files(free);
  clearenv(); // LLD_REPRODUCE and its like
}

ChildEnd end_child(pid_t child) {
  constexpr auto patience = std::chrono::seconds(2);
  auto rest = std::chrono::microseconds(100); // it has most often ended by now
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  while (std::chrono::steady_clock::now() - start < patience) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child)
      return {WIFEXITED(status), WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)};
    if (ended < 0 && errno != EINTR)
      return {false, SIGKILL};
    std::this_thread::sleep_for(rest);
    rest = std::min<std::chrono::microseconds>(2 * rest, std::chrono::milliseconds(10));
  }
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {false, SIGKILL};
}

std::string ChildClock::overdue() {
  constexpr auto longest_rest = std::chrono::minutes(10);
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return {}; // it has ended
  const double cpu = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  const auto now = std::chrono::steady_clock::now();
  if (cpu > last_cpu_)
    last_progress_ = now;
  last_cpu_ = cpu;
  if (cpu > cpu_seconds_)
    return "took more than " + std::to_string(static_cast<int>(cpu_seconds_)) + " seconds of CPU time";
  if (now - last_progress_ > longest_rest)
    return "did nothing for ten minutes";
  return {};
}

void exit_on_no_memory() {
  std::set_new_handler([] { _exit(no_memory_status); });
}

} // namespace xaas
