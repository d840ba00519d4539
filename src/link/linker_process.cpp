// lld in a child process.
//
// lld keeps state in the process and may end it, and its inputs can be hostile; so it runs in a fork that
// keeps nothing but a pipe for its messages. A fork is enough, since the caller has one thread, and saves
// finding a program to start.
#include "linker_process.h"

#include "vet.h"

#include <xaas/base/child.h>
#include <xaas/base/confine.h>
#include <xaas/base/pipe.h>
#include <xaas/base/process.h>

#include <lld/Common/Driver.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace xaas::link {
namespace {

constexpr int refused_status = 250;         // of the child: the message is one about a refused input
constexpr size_t message_limit = 16u << 20; // bytes of messages that are kept

[[noreturn]] void link_in_child(const std::vector<fs::path>& directories,
                                const std::vector<std::string>& arguments,
                                const std::vector<VettedInput>& inputs, const std::vector<fs::path>& files,
                                uint64_t max_bytes) {
  llvm::raw_fd_ostream output(STDOUT_FILENO, false), errors(STDERR_FILENO, false, true);
  exit_on_no_memory();
  std::signal(SIGXFSZ, SIG_IGN); // a file that is too large is an error of a write
  llvm::install_bad_alloc_error_handler(
      [](void*, const char*, bool) { _exit(no_memory_status); }); // of malloc
  if (const auto confined = confine(
          {.readable = files, .writable = directories, .max_memory = memory_limit(), .max_file = max_bytes});
      !confined) {
    errors << confined.error().message;
    errors.flush();
    _exit(unconfined_status);
  }
  for (const VettedInput& input : inputs)
    if (const auto vetted = vet_input(input.path, input.name, input.script, input.bitcode); !vetted) {
      errors << vetted.error().message;
      _exit(refused_status);
    }
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(argument.c_str());
  const lld::Result result = lld::lldMain(pointers, output, errors, {{lld::Gnu, &lld::elf::link}});
  output.flush();
  errors.flush();
  _exit(result.retCode & 0xff);
}

// The messages until the child closes the pipe. What it prints beyond a limit is not kept.
Result<std::string> read_messages(int fd, pid_t child, double cpu_seconds) {
  ChildClock clock(child, cpu_seconds);
  std::string messages;
  char buffer[4096];
  for (;;) {
    if (auto interrupted = check_interrupt(); !interrupted) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      return std::move(interrupted).error();
    }
    if (const std::string overdue = clock.overdue(); !overdue.empty()) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      return make_error(ErrorKind::failed, "the linker " + overdue);
    }
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 200) <= 0)
      continue;
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count == 0)
      return messages;
    if (count > 0 && messages.size() < message_limit)
      messages.append(buffer, size_t(count));
    if (count < 0 && errno != EINTR)
      return errno_error(errno, "reading the linker's messages");
  }
}

// "in/3/x.o" is "x.o" to people.
std::string without_private_paths(const std::string& messages) {
  std::string clean;
  size_t at = 0;
  while (at < messages.size()) {
    size_t end = at + 3;
    const bool starts =
        messages.compare(at, 3, "in/") == 0 &&
        (at == 0 || !(std::isalnum(static_cast<unsigned char>(messages[at - 1])) || messages[at - 1] == '/'));
    while (starts && end < messages.size() && std::isdigit(static_cast<unsigned char>(messages[end])))
      ++end;
    if (starts && end > at + 3 && end < messages.size() && messages[end] == '/')
      at = end + 1;
    else
      clean.push_back(messages[at++]);
  }
  return clean;
}

} // namespace

Result<std::string> run_linker(const std::vector<fs::path>& directories,
                               const std::vector<std::string>& arguments,
                               const std::vector<VettedInput>& inputs, const std::vector<fs::path>& files,
                               double cpu_seconds, uint64_t max_bytes) {
  XAAS_TRY(Pipe words, Pipe::open("starting the linker"));
  const pid_t child = fork();
  if (child < 0)
    return errno_error(errno, "starting the linker");
  if (child == 0) {
    detach(words.write_end(), words.write_end());
    if (chdir(directories.front().c_str()) != 0)
      _exit(unconfined_status);
    link_in_child(directories, arguments, inputs, files, max_bytes);
  }
  words.close_write();
  const Result<std::string> raw = read_messages(words.read_end(), child, cpu_seconds);
  words.close_read();
  const ChildEnd end = end_child(child);
  if (!raw)
    return raw.error();
  const std::string messages = without_private_paths(*raw);
  if (end.exited && end.status == 0)
    return messages;
  if (end.exited && end.status == unconfined_status)
    return make_error(ErrorKind::failed,
                      messages.empty() ? "the linker's process could not be set up" : messages);
  if (end.exited && end.status == refused_status)
    return make_error(ErrorKind::integrity, messages);
  if ((end.exited && end.status == no_memory_status) || (!end.exited && end.status == SIGKILL))
    return make_error(ErrorKind::failed, "the linker ran out of memory");
  // lld itself turns a signal into 128 and its number.
  if (!end.exited || end.status >= 128)
    return crash_error("the linker crashed with signal " +
                       std::to_string(end.exited ? end.status - 128 : end.status));
  if (messages.find(std::strerror(EFBIG)) != std::string::npos)
    return make_error(ErrorKind::failed,
                      "its output has more than the " + std::to_string(max_bytes) + " bytes allowed");
  return make_error(ErrorKind::failed, messages.empty() ? "the linker failed without a message" : messages);
}

} // namespace xaas::link
