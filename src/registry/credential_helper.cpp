// Programs that keep credentials: the protocol of docker-credential-helpers. The server's name goes to the
// standard input, JSON comes from the standard output; what it says on standard error may be secret and is
// thrown away.
#include "credentials.h"

#include <xaas/base/json.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace xaas::registry {

namespace {

constexpr size_t answer_limit = size_t(1) << 20;

// A child with a socket to talk over; ended, with all of its group, when the object goes.
class Helper {
public:
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  Helper() = default;
  ~Helper() {
    if (socket_ >= 0)
      close(socket_);
    if (child_ > 0) {
      kill(-child_, SIGKILL);
      while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  // A socket, not a pipe: writing to a child that does not read is then no signal.
  Result<void> start(const fs::path& program) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return errno_error(errno, "starting " + program.string());
    socket_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    sigset_t ignored_by_us; // what is ignored is inherited
    sigemptyset(&ignored_by_us);
    sigaddset(&ignored_by_us, SIGPIPE);
    sigaddset(&ignored_by_us, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &ignored_by_us);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    std::string name = program.string(), get = "get";
    char* arguments[] = {name.data(), get.data(), nullptr};
    const int error = posix_spawn(&child_, name.c_str(), &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error != 0) {
      child_ = -1;
      return errno_error(error, "starting " + program.string());
    }
    return {};
  }

  // Sends the question; gives all that comes back.
  Result<std::string> talk(const std::string& question, std::chrono::steady_clock::time_point until) {
    static_cast<void>(send(socket_, question.data(), question.size(), MSG_NOSIGNAL));
    shutdown(socket_, SHUT_WR);
    std::string answer;
    while (true) {
      XAAS_CHECK(check_interrupt());
      if (std::chrono::steady_clock::now() >= until)
        return make_error(ErrorKind::failed, "it takes too long");
      pollfd wait = {socket_, POLLIN, 0};
      if (poll(&wait, 1, 50) <= 0)
        continue;
      char buffer[4096];
      const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return answer;
      answer.append(buffer, static_cast<size_t>(count));
      if (answer.size() > answer_limit)
        return make_error(ErrorKind::failed, "it says too much");
    }
  }

  // Whether it exited with 0.
  Result<bool> succeeded(std::chrono::steady_clock::time_point until) {
    int status = 0;
    while (waitpid(child_, &status, WNOHANG) == 0) {
      XAAS_CHECK(check_interrupt());
      if (std::chrono::steady_clock::now() >= until)
        return make_error(ErrorKind::failed, "it takes too long");
      poll(nullptr, 0, 10);
    }
    child_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

private:
  pid_t child_ = -1;
  int socket_ = -1;
};

bool is_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

} // namespace

Result<std::optional<Credentials>> ask_helper(const std::string& name, const std::string& server,
                                              std::chrono::seconds limit) {
  if (!is_name(name))
    return make_error(ErrorKind::usage, "'" + name + "' is not the name of a credential helper");
  const std::string program = "docker-credential-" + name;
  const std::optional<fs::path> path = find_program(program);
  if (!path)
    return make_error(ErrorKind::missing_tool, "the credential helper " + program + " is not on PATH",
                      "install it, or give another file by --authfile");
  const auto until = std::chrono::steady_clock::now() + limit;
  Helper helper;
  XAAS_CHECK(helper.start(*path));
  XAAS_TRY(const std::string answer, helper.talk(server + "\n", until).in(program));
  XAAS_TRY(const bool good, helper.succeeded(until).in(program));
  if (!good) { // it says so on standard output
    if (answer.find("credentials not found") != std::string::npos)
      return std::optional<Credentials>();
    return make_error(ErrorKind::failed, program + ": it failed for " + server,
                      "`echo " + server + " | " + program + " get` shows what it says");
  }
  const Result<Json> json = parse_json(answer, ""); // its own message would quote the answer
  if (!json || !json->is_object())
    return make_error(ErrorKind::failed, program + ": its answer is no JSON object");
  const auto text = [&](const char* key) {
    const auto found = json->find(key);
    return found != json->end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  Credentials credentials;
  if (text("Username") == "<token>")
    credentials.identity_token = text("Secret");
  else {
    credentials.user = text("Username");
    credentials.password = text("Secret");
  }
  return credentials.empty() ? std::optional<Credentials>() : std::optional<Credentials>(credentials);
}

} // namespace xaas::registry
