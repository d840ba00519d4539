#include "supervisor.h"

#include <xaas/base/child.h>
#include <xaas/base/file_descriptor.h>
#include <xaas/base/modesty.h>
#include <xaas/base/pipe.h>
#include <xaas/base/process.h>
#include <xaas/base/signals.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace xaas {

namespace {

volatile std::sig_atomic_t pending_signal = 0;

void remember_signal(int number) {
  pending_signal = number;
}

std::vector<std::string> child_environment(const Command& command) {
  std::map<std::string, std::string> variables;
  if (command.inherit_environment)
    for (char** entry = environ; *entry; ++entry) {
      const std::string_view text(*entry);
      const size_t equals = text.find('=');
      if (equals != std::string_view::npos)
        variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  for (const auto& [name, value] : command.environment)
    variables[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables)
    entries.push_back(name + "=" + value);
  return entries;
}

// Calls `watch` about once per period.
class Watch {
public:
  explicit Watch(const Command& command) : command_(command) {}
  Result<void> check() {
    XAAS_CHECK(check_interrupt());
    const Clock::time_point now = Clock::now();
    if (!command_.watch || now - last_ < command_.watch_period)
      return {};
    Result<void> wanted = command_.watch();
    last_ = Clock::now(); // the period excludes the time of the call
    return wanted;
  }
  int pause() const { // in milliseconds
    return static_cast<int>(std::min<std::chrono::milliseconds::rep>(command_.watch_period.count(), 200));
  }

private:
  using Clock = std::chrono::steady_clock;
  const Command& command_;
  Clock::time_point last_ = Clock::now();
};

// Reads until end of file, interruption, an error of the watch, or the output limit.
Result<void> drain(int fd, std::string& output, const Command& command, Watch& watch) {
  char buffer[65536];
  while (true) {
    XAAS_CHECK(watch.check());
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, watch.pause()) <= 0)
      continue;
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return {};
    if (command.most_output - output.size() < static_cast<uint64_t>(count))
      return make_error(ErrorKind::failed, command.arguments[0] + ": prints more than " +
                                               std::to_string(command.most_output) + " bytes");
    output.append(buffer, static_cast<size_t>(count));
  }
}

// Ends the command and its descendants.
void end_tree(pid_t supervisor, const Command& command) {
  if (command.ending)
    command.ending(supervisor);
  kill(supervisor, command.at_once ? SIGUSR1 : SIGTERM);
  while (waitpid(supervisor, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<int> wait_for(pid_t supervisor, const Command& command, Watch& watch) {
  for (useconds_t pause = 1'000;; pause = std::min<useconds_t>(2 * pause, 20'000)) {
    int status = 0;
    const pid_t done = waitpid(supervisor, &status, WNOHANG);
    if (done == supervisor)
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (done < 0 && errno != EINTR)
      return errno_error(errno, "waiting for a child process");
    if (Result<void> wanted = watch.check(); !wanted) {
      end_tree(supervisor, command);
      return std::move(wanted).error();
    }
    usleep(pause);
  }
}

// Why the program could not be started.
Error start_error(int number, const Command& command) {
  const std::string what = "starting " + command.arguments[0] + ": " + std::strerror(number);
  if (number == E2BIG) {
    size_t bytes = 0;
    for (const std::string& argument : command.arguments)
      bytes += argument.size() + 1;
    return make_error(ErrorKind::failed,
                      what + ": " + std::to_string(command.arguments.size()) + " arguments of " +
                          std::to_string(bytes) + " bytes in all, and the environment",
                      "pass them in a file");
  }
  if (number == ENOENT || number == EACCES || number == ENOEXEC || number == ELIBBAD)
    return make_error(ErrorKind::missing_tool, what);
  return errno_error(number, "starting " + command.arguments[0]);
}

// The errno of a start that failed, or 0. Does not block, because a process may still hold the other end.
int failure_in(const Pipe& status) {
  fcntl(status.read_end(), F_SETFL, O_NONBLOCK);
  int failed = 0;
  return read(status.read_end(), &failed, sizeof(failed)) == sizeof(failed) ? failed : 0;
}

// The supervisor starts with all signals blocked, because none of our handlers may run in it.
pid_t fork_supervisor(const CommandStart& start) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  const pid_t supervisor = fork();
  if (supervisor == 0)
    supervise(start, parent);
  const int number = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = number;
  return supervisor;
}

bool is_program(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code) && access(path.c_str(), X_OK) == 0;
}

uint64_t number_in_file(const fs::path& path, uint64_t otherwise) {
  const Result<std::string> text = read_file(path);
  if (!text || text->empty() || !std::isdigit(static_cast<unsigned char>(text->front())))
    return otherwise;
  return std::strtoull(text->c_str(), nullptr, 10);
}

} // namespace

std::optional<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_program(name) ? std::optional(fs::absolute(name)) : std::nullopt;
  const char* path = std::getenv("PATH");
  for (const std::string& directory : split(path ? path : "", ':')) {
    const fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
    if (is_program(candidate))
      return fs::absolute(candidate);
  }
  return std::nullopt;
}

namespace {

// A file in memory, which a command can read without anybody feeding it.
Result<FileDescriptor> input_of(const Command& command, const std::string& what) {
  if (!command.input)
    return command.inherit_input ? FileDescriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) : FileDescriptor();
  FileDescriptor file(memfd_create("input", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), *command.input) || lseek(file.get(), 0, SEEK_SET) < 0)
    return errno_error(errno, what);
  return file;
}

// Where the command prints, and our end of the pipe if the output is captured.
struct Streams {
  FileDescriptor output, errors, captured;
};

Result<Streams> streams_of(const Command& command, const std::string& what) {
  Streams streams;
  if (command.drop_errors) {
    streams.errors = FileDescriptor(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!streams.errors)
      return errno_error(errno, what);
  }
  if (command.inherit_output)
    return streams;
  if (command.output) {
    streams.output =
        FileDescriptor(open(command.output->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!streams.output)
      return errno_error(errno, "writing " + command.output->string());
    return streams;
  }
  XAAS_TRY(Pipe data, Pipe::open(what));
  streams.output = std::move(data.write_side());
  streams.captured = std::move(data.read_side());
  return streams;
}

std::optional<fs::path> program_of(const Command& command) {
  if (command.become)
    return command.arguments.at(0);
  return find_program(command.program ? command.program->string() : command.arguments.at(0));
}

} // namespace

Result<ProcessResult> run_process(const Command& command) {
  XAAS_CHECK(check_interrupt());
  const std::optional<fs::path> program = program_of(command);
  if (!program)
    return make_error(ErrorKind::missing_tool, command.arguments[0] + ": no such program on PATH");

  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = child_environment(command);
  const std::vector<char*> argument_pointers = null_terminated(arguments);
  const std::vector<char*> environment_pointers = null_terminated(environment);

  const std::string what = "starting " + command.arguments[0];
  XAAS_TRY(Pipe status, Pipe::open(what));
  XAAS_TRY(FileDescriptor input, input_of(command, what));
  XAAS_TRY(Streams streams, streams_of(command, what));
  const pid_t supervisor =
      fork_supervisor({.program = program->c_str(),
                       .arguments = argument_pointers.data(),
                       .environment = environment_pointers.data(),
                       .directory = command.directory.c_str(),
                       .input = input.get(),
                       .output = streams.output.get(),
                       .errors = command.drop_errors ? streams.errors.get() : streams.output.get(),
                       .status = status.write_end(),
                       .limits = command.limits ? &*command.limits : nullptr,
                       .may_leave_processes = command.may_leave_processes,
                       .become = &command.become});
  if (supervisor < 0)
    return errno_error(errno, what);
  status.close_write();
  streams.output.close();

  if (command.started)
    command.started(supervisor);
  Watch watch(command);
  ProcessResult result;
  if (streams.captured)
    if (Result<void> drained = drain(streams.captured.get(), result.output, command, watch); !drained) {
      end_tree(supervisor, command); // with the pipe open: it may still write, and must not get SIGPIPE
      return std::move(drained).error();
    }
  XAAS_TRY(result.exit_code, wait_for(supervisor, command, watch));
  if (const int failed = failure_in(status); failed != 0)
    return start_error(failed, command);
  return result;
}

namespace {

struct Former {
  int number;
  struct sigaction action;
};
std::vector<Former> former; // what install_interrupt_handler changed

void change_signal(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  Former before{number, {}};
  if (sigaction(number, &action, &before.action) == 0)
    former.push_back(before);
}

} // namespace

void install_interrupt_handler() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    change_signal(number, remember_signal);
  // A closed pipe and a file size limit make writes fail; they must not end the program.
  for (const int number : {SIGPIPE, SIGXFSZ})
    change_signal(number, SIG_IGN);
  change_signal(SIGCHLD, SIG_DFL); // if it were ignored, there would be no children to wait for
}

void restore_signals() {
  for (auto each = former.rbegin(); each != former.rend(); ++each)
    sigaction(each->number, &each->action, nullptr);
  former.clear();
}

int interrupt_signal() {
  return pending_signal;
}

Result<void> check_interrupt() {
  if (pending_signal)
    return make_error(ErrorKind::interrupted, "interrupted");
  return {};
}

// The limit of a cgroup and of those above it, each in `file` in the group's directory below `mount`.
static uint64_t cgroup_limit(const fs::path& mount, const fs::path& group, const char* file, uint64_t limit) {
  fs::path directory = mount / group.relative_path();
  for (;; directory = directory.parent_path()) {
    limit = std::min(limit, number_in_file((directory / file).c_str(), limit));
    if (directory == mount || relative_under(directory, mount).empty())
      return limit;
  }
}

uint64_t memory_limit() {
  const auto pages = static_cast<uint64_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
  uint64_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // "0::/group" in version 2, "4:memory:/group" in version 1 (cgroups(7), /proc/pid/cgroup). In a container
  // the group may have the host's name while the mount is the container's own.
  const Result<std::string> groups = read_file("/proc/self/cgroup");
  for (const std::string& line : split(groups ? *groups : "0::/\n", '\n')) {
    const std::vector<std::string> parts = split(line, ':');
    if (parts.size() != 3)
      continue;
    if (parts[1].empty())
      limit = cgroup_limit("/sys/fs/cgroup", parts[2], "memory.max", limit);
    else if (parts[1] == "memory")
      limit = cgroup_limit("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", limit);
  }
  return limit;
}

unsigned default_jobs() {
  return allowed_jobs(8);
}

} // namespace xaas
