// A container runtime may hang: on a dead file system, a daemon, a lock in the home directory. So nothing
// here waits without a limit: commands are started by fork (vfork and posix_spawn return only after exec,
// which reads the program's file), output is polled, and a process that does not die of SIGKILL, because the
// kernel waits for a file server, is left to init.
#include "program_version.h"

#include <xaas/base/pipe.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas::system {

using Clock = std::chrono::steady_clock;

struct ProgramVersions::Child {
  pid_t pid = -1;
  int output = -1;
  std::string text;
  bool succeeded = false;

  static Child start(std::vector<std::string> command);
  void read_some();
  void finish_output();
  bool reap(); // true once the process is gone
  void end(Clock::time_point deadline);
};

namespace {

constexpr size_t most_output = 16384; // no version comes after that

// Between fork and exec: system calls only, because other threads may hold locks.
[[noreturn]] void become(char* const* arguments, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0 && dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      signal(number, SIG_DFL);
    execv(arguments[0], arguments);
  }
  _exit(127);
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<long long>(left, 0));
}

// The first word with a dot between digits: "podman version 4.3.1" gives "4.3.1", "bubblewrap 0.8.0" "0.8.0".
std::string version_in(const std::string& text) {
  const auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  for (size_t start = 0; start < text.size(); ++start) {
    if (!digit(start) || (start && digit(start - 1)))
      continue;
    size_t end = start;
    while (digit(end))
      ++end;
    if (end < text.size() && text[end] == '.' && digit(end + 1))
      return text.substr(start, text.find_first_of(" \t\r\n,;()\"'", start) - start);
    start = end;
  }
  return {};
}

} // namespace

ProgramVersions::Child ProgramVersions::Child::start(std::vector<std::string> command) {
  Child child;
  std::vector<char*> arguments;
  for (std::string& argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  Result<Pipe> pipe = Pipe::open("starting a program");
  if (!pipe)
    return child;
  fcntl(pipe->read_end(), F_SETFL, O_NONBLOCK);
  child.pid = fork();
  if (child.pid == 0)
    become(arguments.data(), pipe->write_end());
  if (child.pid > 0) {
    setpgid(child.pid, child.pid);
    child.output = pipe->read_side().release();
  }
  return child;
}

void ProgramVersions::Child::finish_output() {
  close(output);
  output = -1;
}

void ProgramVersions::Child::read_some() {
  char buffer[4096];
  const ssize_t size = read(output, buffer, sizeof(buffer));
  if (size > 0)
    text.append(buffer, static_cast<size_t>(size));
  else if (size == 0 || (errno != EAGAIN && errno != EINTR))
    return finish_output();
  if (text.size() > most_output)
    finish_output();
}

bool ProgramVersions::Child::reap() {
  int status = 0;
  const pid_t done = waitpid(pid, &status, WNOHANG);
  if (done == 0 || (done < 0 && errno == EINTR))
    return false;
  succeeded = done == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  pid = -1;
  return true;
}

void ProgramVersions::Child::end(Clock::time_point deadline) {
  // Somebody still holds the output. A command that is done keeps its status, whatever is sent to its group.
  if (pid > 0 && output >= 0)
    kill(-pid, SIGKILL);
  while (pid > 0 && !reap() && Clock::now() < deadline)
    usleep(1000);
  if (pid > 0) {
    kill(-pid, SIGKILL);
    for (int i = 0; i < 100 && !reap(); ++i)
      usleep(1000);
    succeeded = false;
  }
  if (output >= 0)
    finish_output();
}

ProgramVersions::ProgramVersions(std::chrono::milliseconds limit) : deadline_(Clock::now() + limit) {}

ProgramVersions::~ProgramVersions() {
  for (const std::unique_ptr<Child>& child : children_)
    if (child->pid > 0 || child->output >= 0)
      child->end(Clock::now());
}

size_t ProgramVersions::ask(std::vector<std::string> command) {
  children_.push_back(std::make_unique<Child>(Child::start(std::move(command))));
  return children_.size() - 1;
}

std::vector<std::string> ProgramVersions::finish() {
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Child*> owners;
    for (const std::unique_ptr<Child>& child : children_)
      if (child->output >= 0) {
        waiting.push_back({child->output, POLLIN, 0});
        owners.push_back(child.get());
      }
    if (waiting.empty())
      break;
    // After the deadline what they have written already is read all the same.
    const int ready = poll(waiting.data(), waiting.size(), milliseconds_until(deadline_));
    if (ready <= 0 && Clock::now() >= deadline_)
      break;
    for (size_t i = 0; i < waiting.size() && ready > 0; ++i)
      if (waiting[i].revents)
        owners[i]->read_some();
  }
  std::vector<std::string> versions;
  for (const std::unique_ptr<Child>& child : children_) {
    child->end(deadline_);
    versions.push_back(child->succeeded ? version_in(child->text) : "");
  }
  return versions;
}

} // namespace xaas::system
