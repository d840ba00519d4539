// Worker processes.
//
// LLVM may crash on a damaged module, run out of memory or never end, and a deploying process must survive
// that. So modules are lowered only in children. A child is forked without exec: no second program, no
// environment, no loader takes part, and start-up costs nothing. Rejected: threads (a crash takes everything
// along; LLVM's options are process state), and exec of this program (needs to know where it is, which an
// archive started by its own loader does not).
//
// The protocol is one message each way: eight bytes of length, then the content. A request is a JSON line
// with the unit, options and target, then the bitcode; an answer is one byte (0: object follows; else 1 +
// ErrorKind: message follows).
#include <xaas/base/process.h>
#include <xaas/lower/lower.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas::lower {

namespace {

bool write_bytes(int fd, const char* data, size_t size) {
  while (size) {
    const ssize_t count = write(fd, data, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool read_bytes(int fd, char* data, size_t size) {
  while (size) {
    const ssize_t count = read(fd, data, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool send_message(int fd, const std::string& message) {
  const uint64_t size = message.size();
  return write_bytes(fd, reinterpret_cast<const char*>(&size), sizeof(size)) &&
         write_bytes(fd, message.data(), message.size());
}

bool receive_message(int fd, std::string& message) {
  uint64_t size = 0;
  if (!read_bytes(fd, reinterpret_cast<char*>(&size), sizeof(size)) || size > (uint64_t(1) << 34))
    return false;
  message.resize(size);
  return read_bytes(fd, message.data(), size);
}

std::string encode(const Job& job) {
  const Json head{
      {"unit", ir::to_json(job.unit)},
      {"options", ir::to_json(job.options)},
      {"target", {{"arch", job.target.arch}, {"name", job.target.name}, {"features", job.target.features}}},
      {"working", job.working}};
  return head.dump() + "\n" + job.bitcode;
}

Result<Job> decode(const std::string& message) {
  const size_t line = message.find('\n');
  XAAS_TRY(const Json head, parse_json(std::string_view(message).substr(0, line), "request"));
  const JsonReader reader(head, "request");
  Job job;
  XAAS_TRY(const JsonReader unit, reader.at("unit"));
  XAAS_TRY(job.unit, ir::parse_unit(unit));
  XAAS_TRY(const JsonReader options, reader.at("options"));
  XAAS_TRY(job.options, ir::parse_unit_options(options));
  XAAS_TRY(const JsonReader target, reader.at("target"));
  XAAS_TRY(job.target.arch, target.string_at("arch"));
  XAAS_TRY(job.target.name, target.string_at("name"));
  XAAS_TRY(const JsonReader features, target.at("features"));
  XAAS_TRY(job.target.features, features.strings());
  XAAS_TRY(job.working, reader.boolean_or("working", false));
  job.bitcode = message.substr(line + 1);
  return job;
}

[[noreturn]] void serve(int fd) {
  signal(SIGINT, SIG_IGN); // the parent decides; it ends us by closing the socket
  signal(SIGTERM, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL); // no worker outlives the run that started it
  const rlimit none{0, 0};
  setrlimit(RLIMIT_NOFILE, &none); // for good: nothing that a worker reads can make it open a file
  std::string message;
  while (receive_message(fd, message)) {
    const Result<Job> job = decode(message);
    Result<std::string> object = job ? lower(*job) : Result<std::string>(job.error());
    std::string answer;
    if (object)
      answer = std::string(1, '\0') + *object;
    else
      answer = std::string(1, static_cast<char>(1 + static_cast<int>(object.error().kind))) +
               object.error().message;
    if (!send_message(fd, answer))
      break;
  }
  _exit(0);
}

class Worker {
public:
  static Result<Worker> start(const std::vector<Worker>& others) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return errno_error(errno, "starting a worker");
    const pid_t child = fork();
    if (child < 0)
      return errno_error(errno, "starting a worker");
    if (child == 0) {
      close(ends[0]);
      for (const Worker& other : others)
        close(other.fd_); // else a sibling would never see end of file
      serve(ends[1]);
    }
    close(ends[1]);
    return Worker(child, ends[0]);
  }

  Worker(Worker&& other) noexcept
      : child_(other.child_), fd_(other.fd_), job_(other.job_), busy_(other.busy_) {
    other.child_ = -1;
  }
  Worker& operator=(Worker&&) = delete;
  ~Worker() {
    if (child_ < 0)
      return;
    close(fd_);
    if (busy_)
      kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  int fd() const { return fd_; }
  bool busy() const { return busy_; }
  bool dead() const { return child_ < 0; }
  size_t job() const { return job_; }

  bool assign(size_t number, const std::string& message) {
    job_ = number;
    busy_ = true;
    return send_message(fd_, message);
  }

  // The answer to the assigned job. A worker that died is an error without a name; the caller adds it.
  Result<std::string> answer() {
    std::string message;
    if (!receive_message(fd_, message) || message.empty())
      return make_error(ErrorKind::integrity, death());
    busy_ = false;
    const int kind = message[0];
    message.erase(0, 1);
    if (kind == 0)
      return message;
    return make_error(static_cast<ErrorKind>(kind - 1), message);
  }

private:
  Worker(pid_t child, int fd) : child_(child), fd_(fd) {}

  std::string death() {
    int status = 0;
    close(fd_);
    waitpid(child_, &status, 0);
    child_ = -1;
    if (WIFSIGNALED(status))
      return std::string("the worker was ended by signal ") + strsignal(WTERMSIG(status));
    return "the worker ended without an answer";
  }

  pid_t child_;
  int fd_;
  size_t job_ = 0;
  bool busy_ = false;
};

} // namespace

Result<void> lower_all(size_t count, const std::function<Result<Job>(size_t)>& job,
                       const std::function<Result<void>(size_t, std::string)>& done, unsigned workers,
                       Progress& progress) {
  std::vector<Worker> pool;
  std::map<size_t, std::string> names;
  size_t next = 0;
  size_t finished = 0;
  auto assign = [&](Worker& worker) -> Result<void> {
    XAAS_TRY(const Job task, job(next));
    names[next] = "lowering " + task.unit.source + " (module " + task.unit.module.to_string() + ")";
    // A worker that died while it was written to shows itself when its answer is read.
    worker.assign(next++, encode(task));
    return {};
  };
  pool.reserve(workers);
  while (pool.size() < workers && next < count) {
    XAAS_TRY(Worker worker, Worker::start(pool));
    pool.push_back(std::move(worker));
    XAAS_CHECK(assign(pool.back()));
  }
  while (finished < count) {
    XAAS_CHECK(check_interrupt());
    std::vector<pollfd> waiting;
    for (const Worker& worker : pool)
      waiting.push_back({worker.busy() ? worker.fd() : -1, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), 200) <= 0)
      continue;
    for (size_t i = 0; i < pool.size(); ++i) {
      if (!waiting[i].revents)
        continue;
      Worker& worker = pool[i];
      const size_t number = worker.job();
      Result<std::string> object = worker.answer();
      if (!object)
        return worker.dead() ? std::move(object).error().in(names[number]) : std::move(object).error();
      names.erase(number);
      XAAS_CHECK(done(number, *std::move(object)));
      ++finished;
      progress.advance();
      if (next < count)
        XAAS_CHECK(assign(worker));
    }
  }
  return {};
}

} // namespace xaas::lower
