// The answer ends with a mark, because a child that died midway must not pass for one that finished: a
// library that it loaded may call exit().
#include <xaas/base/child.h>
#include <xaas/base/helper_process.h>
#include <xaas/base/pipe.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas {

namespace {

constexpr char end_mark = '\x04';
constexpr size_t most_text = size_t(64) << 20;

void work(const std::function<std::string()>& task, int answer) {
  close_files(3, answer); // a child that hangs would hold our locks and keep the pipes of others open
  const rlimit nothing_left{0, 0};
  setrlimit(RLIMIT_CORE, &nothing_left);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    std::signal(number, SIG_DFL);
  if (const int nothing = open("/dev/null", O_RDWR); nothing >= 0) // a driver's library may print
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(nothing, number);
  _exit(write_all(answer, task() + end_mark) ? 0 : 1);
}

} // namespace

HelperProcess::HelperProcess(const std::function<std::string()>& task) {
  Result<Pipe> pipe = Pipe::open("starting a helper");
  if (!pipe) {
    trouble_ = pipe.error().message;
    return;
  }
  // Moved out of the way of the standard streams, which the child replaces.
  const FileDescriptor answer(fcntl(pipe->write_end(), F_DUPFD_CLOEXEC, 3));
  const Result<pid_t> child =
      fork_child(ChildGroup::own, "starting a helper", [&] { work(task, answer.get()); });
  if (!child) {
    trouble_ = child.error().message;
    return;
  }
  child_ = *child;
  answer_ = pipe->read_side().release();
  fcntl(answer_, F_SETFL, O_NONBLOCK);
}

HelperProcess::~HelperProcess() {
  if (answer_ >= 0)
    close(answer_);
  if (child_ <= 0 || reaped_)
    return;
  kill_child(child_);
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

// Gives up after a short while, because the kernel may not let the child go.
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

} // namespace xaas
