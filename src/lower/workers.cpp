// Worker processes.
//
// LLVM may crash on a damaged module, run out of memory or never end, and a deploying process must survive
// that. So modules are lowered only in children. A child is forked without exec: no second program, no
// environment, no loader takes part, and start-up costs nothing. Rejected: threads (a crash takes everything
// along; LLVM's options are process state), and exec of this program (needs to know where it is, which an
// archive started by its own loader does not).
//
// A worker computes and nothing else: base/confine.h. Memory is shared out evenly; a module that needs more
// than its share is done again at the end, alone, with all of it. Time is counted in CPU seconds of the
// worker, so that a busy machine makes nobody late.
//
// The protocol is one message each way: eight bytes of length, then the content. A request is a JSON line
// with the unit, options and target, then the bitcode; an answer is one byte (0: object follows; else 1 +
// ErrorKind: message follows).
#include <xaas/base/confine.h>
#include <xaas/base/process.h>
#include <xaas/lower/lower.h>

#include <llvm/Support/ErrorHandling.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

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

Result<std::string> answer_to(const std::string& message) {
  XAAS_TRY(const Job job, decode(message));
  return lower(job);
}

[[noreturn]] void serve(int fd, uint64_t max_memory) {
  signal(SIGINT, SIG_IGN); // the parent decides; it ends us by closing the socket
  signal(SIGTERM, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL); // no worker outlives the run that started it
  exit_on_no_memory();
  llvm::install_bad_alloc_error_handler(
      [](void*, const char*, bool) { _exit(no_memory_status); }); // of malloc
  const Result<void> confined = confine({.readable = {}, .writable = {}, .max_memory = max_memory});
  std::string message;
  while (receive_message(fd, message)) {
    const Result<std::string> object = confined ? answer_to(message) : Result<std::string>(confined.error());
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

enum class Death { crashed, no_memory };

class Worker {
public:
  static Result<Worker> start(const std::vector<Worker>& others, uint64_t max_memory) {
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
      serve(ends[1], max_memory);
    }
    close(ends[1]);
    return Worker(child, ends[0]);
  }

  Worker(Worker&& other) noexcept
      : child_(other.child_), fd_(other.fd_), job_(other.job_), busy_(other.busy_),
        cpu_before_(other.cpu_before_) {
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
  size_t job() const { return job_; }
  // CPU seconds of the job that it has.
  double seconds() const { return busy_ ? cpu() - cpu_before_ : 0; }

  bool assign(size_t number, const std::string& message) {
    job_ = number;
    busy_ = true;
    cpu_before_ = cpu();
    return send_message(fd_, message);
  }

  // The answer to the assigned job: its object, or an error that names it. Nothing if the worker died.
  std::optional<Result<std::string>> answer() {
    std::string message;
    if (!receive_message(fd_, message) || message.empty())
      return std::nullopt;
    busy_ = false;
    const int kind = message[0];
    message.erase(0, 1);
    if (kind == 0)
      return message;
    return make_error(static_cast<ErrorKind>(kind - 1), message);
  }

  // After it died.
  std::pair<Death, std::string> bury() {
    int status = 0;
    close(fd_);
    waitpid(child_, &status, 0);
    child_ = -1;
    busy_ = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_memory_status)
      return {Death::no_memory, "the worker ran out of memory"};
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) // the kernel's answer where there is no more
      return {Death::no_memory, "the worker was killed, as for want of memory"};
    if (WIFSIGNALED(status))
      return {Death::crashed, std::string("the worker was ended by signal ") + strsignal(WTERMSIG(status))};
    return {Death::crashed, "the worker ended without an answer"};
  }

private:
  Worker(pid_t child, int fd) : child_(child), fd_(fd) {}

  double cpu() const {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(child_, &clock) != 0 || clock_gettime(clock, &time) != 0)
      return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  pid_t child_;
  int fd_;
  size_t job_ = 0;
  bool busy_ = false;
  double cpu_before_ = 0;
};

class Pool {
public:
  Pool(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits, Progress& progress)
      : count_(count), job_(job), done_(done), limits_(limits), progress_(progress),
        memory_(limits.memory ? limits.memory : memory_limit()) {}

  Result<void> run() {
    const unsigned workers = std::max(1u, limits_.workers);
    std::vector<size_t> all(count_);
    std::iota(all.begin(), all.end(), size_t(0));
    XAAS_CHECK(work(all, workers, memory_ / workers));
    const std::vector<size_t> alone = std::exchange(too_large_, {});
    last_try_ = true;
    return work(alone, 1, memory_);
  }

private:
  Result<void> work(const std::vector<size_t>& numbers, unsigned workers, uint64_t max_memory) {
    std::vector<Worker> pool;
    pool.reserve(workers);
    size_t next = 0;
    size_t finished = 0;
    while (finished < numbers.size()) {
      while (pool.size() < workers && next < numbers.size()) {
        XAAS_TRY(Worker worker, Worker::start(pool, max_memory));
        pool.push_back(std::move(worker));
        XAAS_CHECK(assign(pool.back(), numbers[next++]));
      }
      XAAS_CHECK(check_interrupt());
      std::vector<pollfd> waiting;
      for (const Worker& worker : pool)
        waiting.push_back({worker.busy() ? worker.fd() : -1, POLLIN, 0});
      const bool any = poll(waiting.data(), waiting.size(), 200) > 0;
      std::vector<Worker> alive;
      alive.reserve(workers);
      for (size_t i = 0; i < pool.size(); ++i) {
        Worker& worker = pool[i];
        if (any && waiting[i].revents) {
          XAAS_TRY(const bool lives, take(worker));
          ++finished;
          if (!lives)
            continue;
          if (next < numbers.size())
            XAAS_CHECK(assign(worker, numbers[next++]));
        } else if (worker.seconds() > limits_.cpu_seconds) {
          return make_error(ErrorKind::failed, names_[worker.job()] + ": took more than " +
                                                   std::to_string(static_cast<int>(limits_.cpu_seconds)) +
                                                   " seconds of CPU time");
        }
        alive.push_back(std::move(worker));
      }
      pool.swap(alive);
    }
    return {};
  }

  Result<void> assign(Worker& worker, size_t number) {
    XAAS_TRY(const Job task, job_(number));
    names_[number] = "lowering " + task.unit.source + " (module " + task.unit.module.to_string() + ")";
    // A worker that died while it was written to shows itself when its answer is read.
    worker.assign(number, encode(task));
    return {};
  }

  // Takes a worker's answer; false if it died of a module that is to be tried again.
  Result<bool> take(Worker& worker) {
    const size_t number = worker.job();
    std::optional<Result<std::string>> object = worker.answer();
    if (!object) {
      const auto [death, message] = worker.bury();
      if (death == Death::crashed)
        return make_error(ErrorKind::integrity, message).in(names_[number]);
      if (last_try_)
        return make_error(ErrorKind::failed, message,
                          "on a machine or in a batch job with more memory it may do")
            .in(names_[number]);
      too_large_.push_back(number);
      return false;
    }
    if (!*object)
      return std::move(*object).error();
    names_.erase(number);
    XAAS_CHECK(done_(number, **std::move(object)));
    progress_.advance();
    return true;
  }

  size_t count_;
  const JobSource& job_;
  const ObjectSink& done_;
  Limits limits_;
  Progress& progress_;
  uint64_t memory_;
  std::map<size_t, std::string> names_; // of jobs that a worker has
  std::vector<size_t> too_large_;       // for a share of the memory
  bool last_try_ = false;
};

} // namespace

Result<void> lower_all(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits,
                       Progress& progress) {
  return Pool(count, job, done, limits, progress).run();
}

} // namespace xaas::lower
