// Becoming the program, or standing by it as its parent.
//
// A runtime that becomes the program is executed in our place, so nothing stands between the batch system and
// the program. bwrap is different: it stays as the program's parent, passes no signal on, and dies of the
// signals that it gets. So bwrap runs as a child, and signals go to the program, whose process ID bwrap
// reports.
//
// Without a terminal, bwrap and the program get a session of their own. A signal to our process group then
// reaches only us, and is passed on once. When we die, bwrap dies (PR_SET_PDEATHSIG), and then the program
// (--die-with-parent). With a terminal they stay in our session, because a shell in the image needs job
// control. The terminal's signals then reach the program directly, and also bwrap, which may die of them
// while the program continues; the program then becomes our child (PR_SET_CHILD_SUBREAPER). Rejected: making
// the namespaces here instead of using bwrap, which exists for that purpose.
#include <xaas/base/child.h>
#include <xaas/base/json.h>
#include <xaas/base/pipe.h>
#include <xaas/base/process.h>
#include <xaas/base/signals.h>
#include <xaas/base/text.h>
#include <xaas/run/run.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xaas::run {

namespace {

class Execution {
public:
  explicit Execution(const Invocation& invocation)
      : arguments_(invocation.arguments), descriptors_(static_cast<int>(invocation.descriptors)) {
    for (const auto& [name, value] : invocation.environment)
      environment_.push_back(name + "=" + value);
  }
  void insert(size_t at, const std::vector<std::string>& more) {
    arguments_.insert(arguments_.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
  }
  // Returns only with an error.
  Error run() {
    restore_signals();
    open_descriptors();
    const std::vector<char*> arguments = null_terminated(arguments_);
    const std::vector<char*> environment = null_terminated(environment_);
    execve(arguments[0], arguments.data(), environment.data());
    const int number = errno;
    const std::string what = "starting " + arguments_[0];
    if (number == ENOENT || number == EACCES || number == ENOEXEC)
      return make_error(ErrorKind::missing_tool, what + ": " + std::strerror(number));
    return errno_error(number, what);
  }

private:
  // Those that are closed, or that execve() would close, become /dev/null.
  void open_descriptors() const {
    for (int each = STDERR_FILENO + 1; each <= STDERR_FILENO + descriptors_; ++each) {
      const int flags = fcntl(each, F_GETFD);
      if (flags >= 0 && !(flags & FD_CLOEXEC))
        continue;
      const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
      if (null == each)
        fcntl(null, F_SETFD, 0);
      else if (null >= 0 && dup2(null, each) >= 0)
        close(null);
    }
  }

  std::vector<std::string> arguments_, environment_;
  int descriptors_;
};

constexpr int failed_status = 126; // as in shells

class Supervision {
public:
  Supervision(const Invocation& invocation, bool terminal) : invocation_(invocation), terminal_(terminal) {}

  Result<int> run() {
    const std::string what = "starting " + invocation_.arguments[0];
    XAAS_TRY(Pipe told, Pipe::open(what));
    sigset_t all;
    sigfillset(&all);
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTTIN, SIGTTOU})
      sigdelset(&all, number);
    sigprocmask(SIG_SETMASK, &all, &before_);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    XAAS_TRY(runtime_, fork_child(terminal_ ? ChildGroup::inherited : ChildGroup::session, what,
                                  [&] { become(told.write_end()); }));
    told.close_write();
    XAAS_CHECK(learn_program(told.read_end()));
    told.close_read();
    while (!ended_) {
      siginfo_t info{};
      const int number = sigwaitinfo(&all, &info);
      if (number == SIGCHLD)
        reap();
      else if (number > 0)
        pass_on(number, info);
    }
    return status_;
  }

private:
  [[noreturn]] void become(int told) {
    fcntl(told, F_SETFD, 0); // bwrap inherits it
    Execution execution(invocation_);
    std::vector<std::string> own = {"--info-fd", std::to_string(told)};
    if (!terminal_)
      own.emplace_back("--die-with-parent");
    execution.insert(1, own);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    const Error error = execution.run();
    const std::string text = "xaas: error: " + error.message + "\n";
    [[maybe_unused]] const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    _exit(failed_status);
  }

  // Reads bwrap's --info-fd, a JSON object (bwrap(1)). Nothing if bwrap ends before it writes one.
  Result<void> learn_program(int told) {
    std::string text;
    char buffer[512];
    ssize_t count = 0;
    while (text.find('}') == std::string::npos &&
           ((count = read(told, buffer, sizeof(buffer))) > 0 || (count < 0 && errno == EINTR)))
      if (count > 0)
        text.append(buffer, static_cast<size_t>(count));
    if (text.empty())
      return {};
    XAAS_TRY(const Json json, parse_json(text, "bwrap's --info-fd", false, ErrorKind::failed));
    const JsonReader reader(json, "bwrap's --info-fd", ErrorKind::failed);
    XAAS_TRY(const JsonReader child, reader.at("child-pid"));
    XAAS_TRY(const int64_t number, child.integer());
    program_ = static_cast<pid_t>(number);
    return {};
  }

  void reap() {
    int status = 0;
    pid_t child = 0;
    while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
      const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      // If a signal ended bwrap, that says nothing about the program, which may be our child by now.
      const bool orphaned =
          child == runtime_ && WIFSIGNALED(status) && terminal_ && program_ > 0 && kill(program_, 0) == 0;
      if ((child == runtime_ && !orphaned) || child == program_) {
        ended_ = true;
        status_ = code;
      }
    }
  }

  void pass_on(int number, const siginfo_t& info) {
    // Signals from a terminal reach the program directly.
    const bool from_terminal = terminal_ && info.si_code == SI_KERNEL;
    if (!from_terminal && program_ > 0)
      kill(program_, number == SIGTSTP ? SIGSTOP : number); // a session without a terminal ignores SIGTSTP
    if (number == SIGTSTP)
      raise(SIGSTOP);
  }

  const Invocation& invocation_;
  bool terminal_;
  sigset_t before_{};
  pid_t runtime_ = -1, program_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-_./:=,+@%^", c);
}

std::string quoted(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain))
    return text;
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

} // namespace

std::string shell_text(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments)
    words.push_back(quoted(argument));
  return join(words, " ");
}

std::string shell_text(const Invocation& invocation, const Host& host) {
  std::vector<std::string> words;
  for (const auto& [name, value] : host.environment)
    if (!invocation.environment.count(name))
      words.insert(words.end(), {"-u", name});
  for (const auto& [name, value] : invocation.environment) {
    const auto known = host.environment.find(name);
    if (known == host.environment.end() || known->second != value)
      words.push_back(name + "=" + value);
  }
  if (!words.empty())
    words.insert(words.begin(), "env");
  words.insert(words.end(), invocation.arguments.begin(), invocation.arguments.end());
  return shell_text(words);
}

Result<int> start(const Plan& plan) {
  XAAS_CHECK(check_interrupt());
  if (plan.use)
    plan.use->leave_open();
  if (plan.invocation.supervised)
    return Supervision(plan.invocation, isatty(STDIN_FILENO) != 0).run();
  return Execution(plan.invocation).run();
}

} // namespace xaas::run
