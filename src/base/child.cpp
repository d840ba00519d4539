#include <xaas/base/child.h>
#include <xaas/base/stopwatch.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace xaas {

namespace {

constexpr int failed_start = 127; // as shells report it

// As in getdents64(2). The C library's readdir() may wait for a lock that another thread held at the fork.
struct DirectoryEntry {
  ino64_t inode;
  off64_t next;
  unsigned short size;
  unsigned char type;
  char name[1]; // and more
};

// The number of descriptors to try where the kernel does not list the open ones.
int most_files() {
  const long limit = sysconf(_SC_OPEN_MAX);
  return limit > 0 && limit < 65536 ? static_cast<int>(limit) : 65536;
}

void close_if_pipe(int fd) {
  struct stat status{};
  if (fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
    close(fd);
}

} // namespace

void close_pipes() {
  const int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (list < 0) {
    for (int fd = 0; fd < most_files(); ++fd)
      close_if_pipe(fd);
    return;
  }
  alignas(DirectoryEntry) char entries[4096];
  long size = 0;
  while ((size = syscall(SYS_getdents64, list, entries, sizeof(entries))) > 0)
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
      int fd = 0;
      const char* const name = entries + at + offsetof(DirectoryEntry, name);
      const char* digit = name;
      for (; *digit >= '0' && *digit <= '9'; ++digit)
        fd = fd * 10 + (*digit - '0');
      if (digit != name)
        close_if_pipe(fd);
      at += entry->size;
    }
  close(list);
}

void close_files(int first, int kept) {
  if (kept >= first) {
    for (int fd = first; fd < kept; ++fd)
      close(fd);
    first = kept + 1;
  }
  if (close_range(static_cast<unsigned>(first), ~0u, 0) == 0)
    return;
  // Linux before 5.9, still common on clusters, has no close_range.
  for (int fd = first; fd < most_files(); ++fd)
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

std::vector<char*> null_terminated(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> fork_child(ChildGroup group, const std::string& what, const std::function<void()>& work) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    return errno_error(errno, what);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) // it died before the call
      _exit(failed_start);
    if (group == ChildGroup::session)
      setsid();
    else if (group == ChildGroup::own)
      setpgid(0, 0);
    work();
    _exit(failed_start);
  }
  if (group == ChildGroup::own)
    setpgid(child, child); // whichever process comes first
  return child;
}

int detach(int words, int answer) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    std::signal(number, SIG_DFL);
  // Standard input is a pipe without a writer, because an empty root has no /dev/null. All descriptors first
  // move out of the way of the standard ones.
  int nothing[2];
  constexpr int free = 3;
  if (pipe(nothing) != 0 || (words = fcntl(words, F_DUPFD, free)) < 0 ||
      (answer = fcntl(answer, F_DUPFD, free)) < 0 || dup2(nothing[0], STDIN_FILENO) < 0 ||
      dup2(words, STDOUT_FILENO) < 0 || dup2(words, STDERR_FILENO) < 0)
    _exit(unconfined_status);
  close_files(free, answer);
  clearenv(); // LLD_REPRODUCE and the like
  return answer;
}

bool write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    data.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void kill_child(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
}

ChildEnd end_child(pid_t child) {
  constexpr auto patience = std::chrono::seconds(2);
  auto rest = std::chrono::microseconds(100); // most children have ended by now
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  while (std::chrono::steady_clock::now() - start < patience) {
    rusage usage{};
    const pid_t ended = wait4(child, &status, WNOHANG, &usage);
    if (ended == child)
      return {WIFEXITED(status), WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
              cpu_seconds(usage)};
    if (ended < 0 && errno != EINTR)
      return {false, SIGKILL};
    std::this_thread::sleep_for(rest);
    rest = std::min<std::chrono::microseconds>(2 * rest, std::chrono::milliseconds(10));
  }
  kill_child(child);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {false, SIGKILL};
}

Error crash_error(const std::string& what, const std::string& fault) {
  return make_error(ErrorKind::failed,
                    what + "; " +
                        (fault.empty() ? "this is probably a fault of xaas, not of its input" : fault));
}

std::string ChildClock::overdue() {
  constexpr auto longest_rest = std::chrono::minutes(10);
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return {}; // the child has ended
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
