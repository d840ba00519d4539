// Worker processes.
//
// LLVM may crash on a damaged module, run out of memory or never end, and a module may be made to take over
// what reads it. So modules are lowered only in children, and each child lowers one: a child that somebody
// has taken over has no other module's answer to give, and what is kept of its answer (the object cache) is
// its own module's. A child is forked without exec: no second program, no environment, no loader takes part,
// the job is there already, and start-up costs a millisecond. Rejected: threads (a crash takes everything
// along; LLVM's options are process state), exec of this program (needs to know where it is, which an archive
// started by its own loader does not), and children that serve many modules (see above).
//
// A worker computes and nothing else: base/confine.h. Memory is shared out evenly; a module that needs more
// than its share is done again at the end, alone, with all of it. Time is counted in CPU seconds of the
// worker, so that a busy machine makes nobody late.
//
// The answer is one byte (0: object follows; else 1 + ErrorKind: message follows) and then all until the end
// of the pipe. The parent waits for nothing that a child could keep back.
#include "targets.h"

#include <xaas/base/child.h>
#include <xaas/base/confine.h>
#include <xaas/base/process.h>
#include <xaas/lower/lower.h>

#include <llvm/Support/ErrorHandling.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace xaas::lower {

namespace {

constexpr size_t max_answer = size_t(1) << 32; // bytes; no object is larger than that
constexpr size_t max_words = 4096;             // of what a worker printed

bool write_bytes(int fd, std::string_view data) {
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

[[noreturn]] void serve(const Job& job, uint64_t max_memory) {
  exit_on_no_memory();
  llvm::install_bad_alloc_error_handler(
      [](void*, const char*, bool) { _exit(no_memory_status); }); // of malloc
  const Result<void> confined = confine({.readable = {}, .writable = {}, .max_memory = max_memory});
  const Result<std::string> object = confined ? lower(job) : Result<std::string>(confined.error());
  if (object) {
    write_bytes(STDOUT_FILENO, std::string_view("\0", 1));
    write_bytes(STDOUT_FILENO, *object);
  } else {
    const char kind = static_cast<char>(1 + static_cast<int>(object.error().kind));
    write_bytes(STDOUT_FILENO, std::string_view(&kind, 1));
    write_bytes(STDOUT_FILENO, object.error().message);
  }
  _exit(0);
}

class Pipe {
public:
  static Result<Pipe> open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return errno_error(errno, "starting a worker");
    return Pipe(ends[0], ends[1]);
  }
  Pipe(Pipe&& other) noexcept
      : read_(std::exchange(other.read_, -1)), write_(std::exchange(other.write_, -1)) {}
  Pipe& operator=(Pipe&&) = delete;
  ~Pipe() {
    close_write();
    if (read_ >= 0)
      close(read_);
  }
  int read_end() const { return read_; }
  int write_end() const { return write_; }
  void close_write() {
    if (write_ >= 0)
      close(std::exchange(write_, -1));
  }

private:
  Pipe(int read_end, int write_end) : read_(read_end), write_(write_end) {}
  int read_, write_;
};

enum class Death { crashed, no_memory };

class Worker {
public:
  static Result<Worker> start(size_t number, const Job& job, uint64_t max_memory, double cpu_seconds) {
    XAAS_TRY(Pipe answer, Pipe::open());
    XAAS_TRY(Pipe words, Pipe::open());
    // What does not fit is lost: nobody reads it before the end.
    for (const int fd : {answer.read_end(), words.read_end(), words.write_end()})
      fcntl(fd, F_SETFL, O_NONBLOCK);
    const pid_t child = fork();
    if (child < 0)
      return errno_error(errno, "starting a worker");
    if (child == 0) {
      detach(answer.write_end(), words.write_end());
      serve(job, max_memory);
    }
    answer.close_write();
    words.close_write();
    return Worker(child, number, std::move(answer), std::move(words), cpu_seconds);
  }

  Worker(Worker&& other) noexcept
      : child_(std::exchange(other.child_, -1)), number_(other.number_), answer_(std::move(other.answer_)),
        words_(std::move(other.words_)), clock_(other.clock_), received_(std::move(other.received_)) {}
  Worker& operator=(Worker&&) = delete;
  ~Worker() {
    if (child_ < 0)
      return;
    kill(child_, SIGKILL);
    end_child(child_);
  }

  int fd() const { return answer_.read_end(); }
  size_t number() const { return number_; }
  std::string overdue() { return clock_.overdue(); }

  // Takes what is there; true at the end of the answer.
  bool receive() {
    char buffer[1 << 16];
    for (;;) {
      const ssize_t count = read(answer_.read_end(), buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0 && errno == EAGAIN)
        return false;
      if (count <= 0)
        return true;
      received_.append(buffer, static_cast<size_t>(count));
      if (received_.size() > max_answer)
        return true;
    }
  }

  // After the end of the answer: the object, or the error that lowering gave. Nothing if the worker died.
  std::optional<Result<std::string>> answer() {
    end_ = end_child(std::exchange(child_, -1));
    if (!end_.exited || end_.status != 0 || received_.empty() || received_.size() > max_answer)
      return std::nullopt;
    const int kind = received_[0];
    received_.erase(0, 1);
    if (kind == 0)
      return std::move(received_);
    const auto error = static_cast<ErrorKind>(kind - 1);
    if (error != ErrorKind::failed && error != ErrorKind::integrity && error != ErrorKind::unsatisfied)
      return std::nullopt;
    return make_error(error, printable(received_));
  }

  std::pair<Death, std::string> death() {
    if (end_.exited && end_.status == no_memory_status)
      return {Death::no_memory, "the worker ran out of memory"};
    if (!end_.exited && end_.status == SIGKILL) // the kernel's answer where there is no more
      return {Death::no_memory, "the worker was killed, as for want of memory"};
    std::string message = end_.exited
                              ? "the worker ended without an answer"
                              : std::string("the worker was ended by signal ") + strsignal(end_.status);
    if (const std::string words = last_words(); !words.empty())
      message += ": " + words;
    return {Death::crashed, message};
  }

private:
  Worker(pid_t child, size_t number, Pipe answer, Pipe words, double cpu_seconds)
      : child_(child), number_(number), answer_(std::move(answer)), words_(std::move(words)),
        clock_(child, cpu_seconds) {}

  // What a module can choose goes to a terminal.
  static std::string printable(std::string text) {
    for (char& c : text)
      if ((c < ' ' && c != '\n') || c == 127)
        c = '?';
    return text;
  }

  // The first line that it printed.
  std::string last_words() {
    std::string text(max_words, '\0');
    const ssize_t count = read(words_.read_end(), text.data(), text.size());
    text.resize(count > 0 ? static_cast<size_t>(count) : 0);
    text.resize(std::min(text.find('\n'), text.size()));
    return printable(std::move(text));
  }

  pid_t child_;
  size_t number_;
  Pipe answer_, words_;
  ChildClock clock_;
  std::string received_;
  ChildEnd end_;
};

class Pool {
public:
  Pool(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits, Progress& progress)
      : count_(count), job_(job), done_(done), limits_(limits), progress_(progress),
        memory_(limits.memory ? limits.memory : memory_limit()), names_(count) {}

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
    for (size_t next = 0; next < numbers.size() || !pool.empty();) {
      while (pool.size() < workers && next < numbers.size()) {
        XAAS_TRY(Worker worker, start(numbers[next++], max_memory));
        pool.push_back(std::move(worker));
      }
      XAAS_CHECK(check_interrupt());
      std::vector<pollfd> waiting;
      for (const Worker& worker : pool)
        waiting.push_back({worker.fd(), POLLIN, 0});
      if (poll(waiting.data(), waiting.size(), 200) < 0)
        continue;
      std::vector<Worker> alive;
      for (size_t i = 0; i < pool.size(); ++i) {
        Worker& worker = pool[i];
        if (waiting[i].revents && worker.receive()) {
          XAAS_CHECK(take(worker));
          continue;
        }
        if (const std::string overdue = worker.overdue(); !overdue.empty())
          return make_error(ErrorKind::failed, names_[worker.number()] + ": " + overdue);
        alive.push_back(std::move(worker));
      }
      pool.swap(alive);
    }
    return {};
  }

  Result<Worker> start(size_t number, uint64_t max_memory) {
    XAAS_TRY(const Job job, job_(number));
    names_[number] = "lowering " + job.unit.source + " (module " + job.unit.module.to_string() + ")";
    return Worker::start(number, job, max_memory, limits_.cpu_seconds);
  }

  Result<void> take(Worker& worker) {
    const size_t number = worker.number();
    std::optional<Result<std::string>> object = worker.answer();
    if (!object) {
      XAAS_CHECK(check_interrupt());
      const auto [death, message] = worker.death();
      if (death == Death::crashed)
        return make_error(ErrorKind::integrity, message).in(names_[number]);
      if (last_try_)
        return make_error(ErrorKind::failed, message,
                          "on a machine or in a batch job with more memory it may do")
            .in(names_[number]);
      too_large_.push_back(number);
      return {};
    }
    if (!*object)
      return std::move(*object).error();
    XAAS_CHECK(done_(number, **std::move(object)));
    progress_.advance();
    return {};
  }

  size_t count_;
  const JobSource& job_;
  const ObjectSink& done_;
  Limits limits_;
  Progress& progress_;
  uint64_t memory_;
  std::vector<std::string> names_; // of jobs that were started
  std::vector<size_t> too_large_;  // for a share of the memory
  bool last_try_ = false;
};

} // namespace

Result<void> lower_all(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits,
                       Progress& progress) {
  initialize_targets(); // once, and not in each worker
  return Pool(count, job, done, limits, progress).run();
}

} // namespace xaas::lower
