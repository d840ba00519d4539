// A container runtime may hang: on a dead file system, a daemon, a lock in the home directory. So nothing
// here waits without a limit: commands are started by fork (vfork and posix_spawn return only after exec,
// which reads the program's file), output is polled, and a process that does not die of SIGKILL, because the
// kernel waits for a file server, is left to init.
#include "program_version.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas::system {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t most_output = 16384; // no version comes after that

struct Child {
  pid_t pid = -1;
  int output = -1;
  std::string text;
  bool succeeded = false;
};

// Between fork and exec: system calls only, because other threads may hold locks.
[[noreturn]] void become(char* const* arguments, int output) {
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0 && dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
      signal(number, SIG_DFL);
    execv(arguments[0], arguments);
  }
  _exit(127);
}

Child start(std::vector<std::string> command) {
  Child child;
  std::vector<char*> arguments;
  for (std::string& argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return child;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  child.pid = fork();
  if (child.pid == 0)
    become(arguments.data(), ends[1]);
  close(ends[1]);
  if (child.pid > 0) {
    setpgid(child.pid, child.pid);
    child.output = ends[0];
  } else {
    close(ends[0]);
  }
  return child;
}

void finish_output(Child& child) {
  close(child.output);
  child.output = -1;
}

void read_some(Child& child) {
  char buffer[4096];
  const ssize_t size = read(child.output, buffer, sizeof(buffer));
  if (size > 0)
    child.text.append(buffer, static_cast<size_t>(size));
  else if (size == 0 || (errno != EAGAIN && errno != EINTR))
    return finish_output(child);
  if (child.text.size() > most_output)
    finish_output(child);
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<long long>(left, 0));
}

void read_all(std::vector<Child>& children, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    std::vector<pollfd> waiting;
    std::vector<Child*> owners;
    for (Child& child : children)
      if (child.output >= 0) {
        waiting.push_back({child.output, POLLIN, 0});
        owners.push_back(&child);
      }
    if (waiting.empty())
      return;
    if (poll(waiting.data(), waiting.size(), milliseconds_until(deadline)) <= 0)
      continue;
    for (size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i].revents)
        read_some(*owners[i]);
  }
}

// True once the process is gone.
bool reap(Child& child) {
  int status = 0;
  const pid_t done = waitpid(child.pid, &status, WNOHANG);
  if (done == 0 || (done < 0 && errno == EINTR))
    return false;
  child.succeeded = done == child.pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  child.pid = -1;
  return true;
}

void end(Child& child, Clock::time_point deadline) {
  // Somebody still holds the output. A command that is done keeps its status, whatever is sent to its group.
  if (child.pid > 0 && child.output >= 0)
    kill(-child.pid, SIGKILL);
  while (child.pid > 0 && !reap(child) && Clock::now() < deadline)
    usleep(1000);
  if (child.pid > 0) {
    kill(-child.pid, SIGKILL);
    for (int i = 0; i < 100 && !reap(child); ++i)
      usleep(1000);
    child.succeeded = false;
  }
  if (child.output >= 0)
    finish_output(child);
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

std::vector<std::string> program_versions(const std::vector<std::vector<std::string>>& commands,
                                          std::chrono::milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  std::vector<Child> children;
  for (const std::vector<std::string>& command : commands)
    children.push_back(start(command));
  read_all(children, deadline);
  std::vector<std::string> versions;
  for (Child& child : children) {
    end(child, deadline);
    versions.push_back(child.succeeded ? version_in(child.text) : "");
  }
  return versions;
}

} // namespace xaas::system
