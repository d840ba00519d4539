// The answer ends with a mark, so that a child that died on the way is not taken for one that is done: a
// library that it loaded may call exit().
#include "helper_process.h"

#include <xaas/base/child.h>
#include <xaas/base/pipe.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas::system {

namespace {

constexpr char end_mark = '\x04';
constexpr size_t most_text = size_t(64) << 20;

[[noreturn]] void work(const std::function<std::string()>& task, int answer, pid_t parent) {
  close_files(3, answer); // one that hangs would keep our locks and the pipes of others
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // it has died before
    _exit(1);
  setpgid(0, 0); // the terminal's signals are the parent's
  const rlimit nothing_left{0, 0};
  setrlimit(RLIMIT_CORE, &nothing_left);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    std::signal(number, SIG_DFL);
  if (const int nothing = open("/dev/null", O_RDWR); nothing >= 0) // a driver's library may print
    for (const int number : {0, 1, 2})
      dup2(nothing, number);
  std::string text = task();
  text += end_mark;
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = write(answer, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR)
      _exit(1);
    at += count > 0 ? static_cast<size_t>(count) : 0;
  }
  _exit(0);
}

} // namespace

HelperProcess::HelperProcess(const std::function<std::string()>& task) {
  Result<Pipe> pipe = Pipe::open("starting a helper");
  if (!pipe) {
    trouble_ = pipe.error().message;
    return;
  }
  // Not over one of the three that the child gives up.
  const FileDescriptor answer(fcntl(pipe->write_end(), F_DUPFD_CLOEXEC, 3));
  const pid_t parent = getpid();
  child_ = answer ? fork() : -1;
  if (child_ == 0)
    work(task, answer.get(), parent);
  if (child_ < 0) {
    trouble_ = std::strerror(errno);
    return;
  }
  setpgid(child_, child_);
  answer_ = pipe->read_side().release();
  fcntl(answer_, F_SETFL, O_NONBLOCK);
}

HelperProcess::~HelperProcess() {
  if (answer_ >= 0)
    close(answer_);
  if (child_ <= 0 || reaped_)
    return;
  kill(-child_, SIGKILL);
  kill(child_, SIGKILL);
  reap();
}

void HelperProcess::receive() {
  char buffer[65536];
  while (answer_ >= 0) {
    const ssize_t count = read(answer_, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EAGAIN)
      return;
    if (count > 0)
      text_.append(buffer, static_cast<size_t>(count));
    if (count <= 0 || text_.size() > most_text) {
      close(answer_);
      answer_ = -1;
    }
  }
}

void HelperProcess::wait(int milliseconds) {
  pollfd waiting{answer_, POLLIN, 0};
  if (answer_ >= 0 && poll(&waiting, 1, milliseconds) > 0)
    receive();
}

// For a short while: the kernel may not let it go.
void HelperProcess::reap() {
  for (int i = 0; i < 200 && !reaped_; ++i) {
    const pid_t done = waitpid(child_, &status_, WNOHANG);
    reaped_ = done == child_ || (done < 0 && errno != EINTR);
    if (!reaped_)
      usleep(1000);
  }
}

bool HelperProcess::succeeded() {
  if (child_ <= 0 || !ended())
    return false;
  if (!text_.empty() && text_.back() == end_mark) {
    text_.pop_back();
    return true;
  }
  reap();
  trouble_ = reaped_ && WIFSIGNALED(status_)
                 ? std::string("was ended by signal ") + strsignal(WTERMSIG(status_))
                 : "ended without an answer";
  return false;
}

} // namespace xaas::system
