// The answer is one byte (0: the result follows; otherwise 1 + ErrorKind: a message follows), then everything
// up to the end of the pipe. The parent never waits for anything that a child could withhold.
#include <xaas/base/confine.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/worker.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace xaas {

namespace {

constexpr size_t max_words = 4096; // bytes of what a worker printed

Confinement confinement_of(const WorkerLimits& limits) {
  return {.readable = limits.readable,
          .writable = limits.writable,
          .max_memory = limits.memory ? limits.memory : memory_limit(),
          .max_file = limits.max_file,
          .further = limits.further};
}

Result<void> prepare(const Confinement& confinement) {
  if (!confinement.writable.empty() && chdir(confinement.writable.front().c_str()) != 0)
    return errno_error(errno, "entering " + confinement.writable.front().string());
  return confine(confinement);
}

[[noreturn]] void serve(const WorkerTask& task, const Confinement& confinement, int answer) {
  exit_on_no_memory();
  std::signal(SIGXFSZ, SIG_IGN); // a file that is too large makes the write fail
  const Result<void> prepared = prepare(confinement);
  const Result<std::string> result =
      prepared ? task() : Result<std::string>(make_error(ErrorKind::failed, prepared.error().message));
  const char kind = result ? '\0' : static_cast<char>(1 + static_cast<int>(result.error().kind));
  if (write_all(answer, {&kind, 1}))
    write_all(answer, result ? *result : result.error().message);
  _exit(0);
}

} // namespace

Worker::Worker(pid_t child, Pipe answer, Pipe words, const WorkerLimits& limits)
    : child_(child), answer_(std::move(answer)), words_(std::move(words)), clock_(child, limits.cpu_seconds),
      max_answer_(limits.answer), name_(limits.name), fault_(limits.fault) {}

Result<Worker> Worker::start(const WorkerTask& task, const WorkerLimits& limits) {
  const std::string what = "starting " + limits.name;
  XAAS_TRY(Pipe answer, Pipe::open(what));
  XAAS_TRY(Pipe words, Pipe::open(what));
  // Words that do not fit are lost, because nobody reads them before the end.
  for (const int fd : {answer.read_end(), words.read_end(), words.write_end()})
    fcntl(fd, F_SETFL, O_NONBLOCK);
  const Confinement confinement = confinement_of(limits);
  prepare_to_confine(confinement);
  XAAS_TRY(const pid_t child, fork_child(ChildGroup::own, what, [&] {
             serve(task, confinement, detach(words.write_end(), answer.write_end()));
           }));
  answer.close_write();
  words.close_write();
  return Worker(child, std::move(answer), std::move(words), limits);
}

Worker::~Worker() {
  if (child_ < 0)
    return;
  kill_child(child_);
  end_child(child_);
}

std::string Worker::overdue() {
  const std::string overdue = clock_.overdue();
  return overdue.empty() ? overdue : name_ + " " + overdue;
}

bool Worker::receive() {
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
    if (received_.size() > max_answer_)
      return true;
  }
}

std::optional<Result<std::string>> Worker::answer() {
  const bool too_large = received_.size() > max_answer_;
  if (too_large)
    kill_child(child_); // without waiting for the rest of its answer
  end_ = end_child(std::exchange(child_, -1));
  if (too_large)
    end_ = {true, too_large_status};
  if (!end_.exited || end_.status != 0 || received_.empty() || received_.size() > max_answer_)
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

Worker::Death Worker::death() {
  if (end_.exited && end_.status == no_memory_status)
    return {true, make_error(ErrorKind::failed, name_ + " ran out of memory")};
  if (!end_.exited && end_.status == SIGKILL) // as the kernel does when memory runs out
    return {true, make_error(ErrorKind::failed, name_ + " was killed, probably for lack of memory")};
  if (end_.exited && end_.status == too_large_status)
    return {false, make_error(ErrorKind::failed, "the answer of " + name_ + " exceeds the " +
                                                     std::to_string(max_answer_) + " bytes allowed")};
  std::string message = name_ + (end_.exited ? " ended without an answer"
                                             : std::string(" was ended by signal ") + strsignal(end_.status));
  if (const std::string words = last_words(); !words.empty())
    message += ": " + words;
  return {false, crash_error(message, fault_)};
}

// The first line that the worker printed.
std::string Worker::last_words() {
  std::string text(max_words, '\0');
  const ssize_t count = read(words_.read_end(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  text.resize(std::min(text.find('\n'), text.size()));
  return printable(std::move(text));
}

Result<std::string> run_worker(const WorkerTask& task, const WorkerLimits& limits) {
  XAAS_TRY(Worker worker, Worker::start(task, limits));
  for (;;) {
    XAAS_CHECK(check_interrupt());
    pollfd waiting{worker.fd(), POLLIN, 0};
    if (poll(&waiting, 1, 200) > 0 && worker.receive())
      break;
    if (const std::string overdue = worker.overdue(); !overdue.empty())
      return make_error(ErrorKind::failed, overdue);
  }
  if (std::optional<Result<std::string>> answer = worker.answer())
    return std::move(*answer);
  return std::move(worker.death().error);
}

Result<std::string> run_worker(const std::string& what, const WorkerTask& task, const WorkerLimits& limits) {
  return run_worker(task, limits).in(what);
}

} // namespace xaas
