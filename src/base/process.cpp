#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
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

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// What the child does between fork and exec: system calls only, because other threads may hold locks.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         const char* directory, int output, int status) {
  setpgid(0, 0);
  const int input = open("/dev/null", O_RDONLY);
  int failed = 0;
  if (input < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
    failed = errno;
  if (!failed && *directory && chdir(directory) != 0)
    failed = errno;
  if (!failed) {
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ})
      sigaction(number, &plain, nullptr);
    execve(program, arguments, environment);
    failed = errno;
  }
  [[maybe_unused]] const ssize_t count = write(status, &failed, sizeof(failed));
  _exit(127);
}

void end_group(pid_t group) {
  kill(-group, SIGTERM);
  for (int i = 0; i < 20; ++i) {
    if (kill(-group, 0) != 0)
      return;
    usleep(50'000);
    waitpid(group, nullptr, WNOHANG);
  }
  kill(-group, SIGKILL);
}

// Reads until end of file or interruption.
Result<void> drain(int fd, std::string& output, pid_t group) {
  char buffer[65536];
  while (true) {
    if (pending_signal) {
      end_group(group);
      return check_interrupt();
    }
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 200) <= 0)
      continue;
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return {};
    output.append(buffer, static_cast<size_t>(count));
  }
}

Result<int> wait_for(pid_t child) {
  int status = 0;
  while (true) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child)
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (done < 0 && errno != EINTR)
      return errno_error(errno, "waiting for a child process");
    if (pending_signal) {
      end_group(child);
      waitpid(child, &status, 0);
      XAAS_CHECK(check_interrupt());
    }
    usleep(2'000);
  }
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
    return access(name.c_str(), X_OK) == 0 ? std::optional(fs::absolute(name)) : std::nullopt;
  const char* path = std::getenv("PATH");
  for (const std::string& directory : split(path ? path : "", ':')) {
    const fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
    std::error_code code;
    if (fs::is_regular_file(candidate, code) && access(candidate.c_str(), X_OK) == 0)
      return fs::absolute(candidate);
  }
  return std::nullopt;
}

Result<ProcessResult> run(const Command& command) {
  XAAS_CHECK(check_interrupt());
  const std::optional<fs::path> program = find_program(command.arguments.at(0));
  if (!program)
    return make_error(ErrorKind::missing_tool, command.arguments[0] + ": no such program on PATH");

  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = child_environment(command);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);

  int data[2] = {-1, -1};
  int status[2] = {-1, -1};
  if (pipe2(status, O_CLOEXEC) != 0)
    return errno_error(errno, "starting " + command.arguments[0]);
  if (command.output) {
    data[1] = open(command.output->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (data[1] < 0)
      return errno_error(errno, "writing " + command.output->string());
  } else if (pipe2(data, O_CLOEXEC) != 0) {
    return errno_error(errno, "starting " + command.arguments[0]);
  }

  const pid_t child = fork();
  if (child < 0)
    return errno_error(errno, "starting " + command.arguments[0]);
  if (child == 0)
    become(program->c_str(), argument_pointers.data(), environment_pointers.data(), command.directory.c_str(),
           data[1], status[1]);
  setpgid(child, child);
  close(status[1]);
  close(data[1]);

  int failed = 0;
  const ssize_t reported = read(status[0], &failed, sizeof(failed));
  close(status[0]);
  ProcessResult result;
  Result<void> drained;
  if (data[0] >= 0) {
    drained = drain(data[0], result.output, child);
    close(data[0]);
  }
  Result<int> code = wait_for(child);
  if (reported == sizeof(failed))
    return make_error(ErrorKind::missing_tool,
                      "starting " + command.arguments[0] + ": " + std::strerror(failed));
  if (!drained)
    return std::move(drained).error();
  if (!code)
    return std::move(code).error();
  result.exit_code = *code;
  return result;
}

void install_interrupt_handler() {
  struct sigaction action{};
  action.sa_handler = remember_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    sigaction(number, &action, nullptr);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  // A closed pipe and a limit on the size of files are errors of a write, not ends of the program.
  for (const int number : {SIGPIPE, SIGXFSZ})
    sigaction(number, &ignore, nullptr);
}

int interrupt_signal() {
  return pending_signal;
}

Result<void> check_interrupt() {
  if (pending_signal)
    return make_error(ErrorKind::interrupted, "interrupted");
  return {};
}

unsigned default_jobs() {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint64_t jobs = std::max(1u, std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    jobs = static_cast<uint64_t>(std::max(1, CPU_COUNT(&set)));
  // cgroup v2: "<quota> <period>" in microseconds, or "max <period>".
  if (const Result<std::string> limit = read_file("/sys/fs/cgroup/cpu.max")) {
    const std::vector<std::string> parts = split(trim(*limit), ' ');
    if (parts.size() == 2 && parts[0] != "max") {
      const uint64_t period = std::max<uint64_t>(1, std::strtoull(parts[1].c_str(), nullptr, 10));
      jobs = std::min(jobs, std::max<uint64_t>(1, std::strtoull(parts[0].c_str(), nullptr, 10) / period));
    }
  }
  const auto pages = static_cast<uint64_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
  uint64_t memory = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  memory = std::min(memory, number_in_file("/sys/fs/cgroup/memory.max", memory));
  jobs = std::min(jobs, std::max<uint64_t>(1, memory >> 30));
  const bool batch = std::getenv("SLURM_JOB_ID") || std::getenv("PBS_JOBID") || std::getenv("LSB_JOBID");
  return static_cast<unsigned>(batch ? jobs : std::min<uint64_t>(jobs, 8));
}

} // namespace xaas
