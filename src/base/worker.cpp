// The answer is one byte (0: the result follows; else 1 + ErrorKind: a message follows) and then all until
// the end of the pipe. The parent waits for nothing that a child could keep back.
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

constexpr size_t max_words = 4096; // of what a worker printed

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

[[noreturn]] void serve(const WorkerTask& task, uint64_t max_memory) {
  exit_on_no_memory();
  const Result<void> confined = confine({.readable = {}, .writable = {}, .max_memory = max_memory});
  const Result<std::string> result = confined ? task() : Result<std::string>(confined.error());
  if (result) {
    write_bytes(STDOUT_FILENO, std::string_view("\0", 1));
    write_bytes(STDOUT_FILENO, *result);
  } else {
    const char kind = static_cast<char>(1 + static_cast<int>(result.error().kind));
    write_bytes(STDOUT_FILENO, std::string_view(&kind, 1));
    write_bytes(STDOUT_FILENO, result.error().message);
  }
  _exit(0);
}

} // namespace

Worker::Worker(pid_t child, Pipe answer, Pipe words, const WorkerLimits& limits)
    : child_(child), answer_(std::move(answer)), words_(std::move(words)), clock_(child, limits.cpu_seconds),
      max_answer_(limits.answer) {}

Result<Worker> Worker::start(const WorkerTask& task, const WorkerLimits& limits) {
  XAAS_TRY(Pipe answer, Pipe::open("starting a worker"));
  XAAS_TRY(Pipe words, Pipe::open("starting a worker"));
  // What does not fit is lost: nobody reads it before the end.
  for (const int fd : {answer.read_end(), words.read_end(), words.write_end()})
    fcntl(fd, F_SETFL, O_NONBLOCK);
  const pid_t child = fork();
  if (child < 0)
    return errno_error(errno, "starting a worker");
  if (child == 0) {
    detach(answer.write_end(), words.write_end());
    serve(task, limits.memory ? limits.memory : memory_limit());
  }
  answer.close_write();
  words.close_write();
  return Worker(child, std::move(answer), std::move(words), limits);
}

Worker::~Worker() {
  if (child_ < 0)
    return;
  kill(child_, SIGKILL);
  end_child(child_);
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
  if (too_large) // what it still has to say is not waited for
    kill(child_, SIGKILL);
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
    return {true, make_error(ErrorKind::failed, "the worker ran out of memory")};
  if (!end_.exited && end_.status == SIGKILL) // the kernel's answer where there is no more
    return {true, make_error(ErrorKind::failed, "the worker was killed, as for want of memory")};
  if (end_.exited && end_.status == too_large_status)
    return {false, make_error(ErrorKind::failed,
                              "makes more than the " + std::to_string(max_answer_) + " bytes allowed")};
  std::string message = end_.exited ? "the worker ended without an answer"
                                    : std::string("the worker was ended by signal ") + strsignal(end_.status);
  if (const std::string words = last_words(); !words.empty())
    message += ": " + words;
  return {false, crash_error(message)};
}

// The first line that it printed.
std::string Worker::last_words() {
  std::string text(max_words, '\0');
  const ssize_t count = read(words_.read_end(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  text.resize(std::min(text.find('\n'), text.size()));
  return printable(std::move(text));
}

Result<std::string> run_worker(const std::string& what, const WorkerTask& task, const WorkerLimits& limits) {
  XAAS_TRY(Worker worker, Worker::start(task, limits));
  for (;;) {
    XAAS_CHECK(check_interrupt());
    pollfd waiting{worker.fd(), POLLIN, 0};
    if (poll(&waiting, 1, 200) > 0 && worker.receive())
      break;
    if (const std::string overdue = worker.overdue(); !overdue.empty())
      return make_error(ErrorKind::failed, what + ": " + overdue);
  }
  if (std::optional<Result<std::string>> answer = worker.answer())
    return std::move(*answer).in(what);
  return std::move(worker.death().error).in(what);
}

} // namespace xaas
