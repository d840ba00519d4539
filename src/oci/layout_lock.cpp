#include "layout_lock.h"

#include <xaas/base/digest.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace xaas::oci {

namespace {

constexpr std::chrono::seconds patience(120);
constexpr time_t stale_after = 60; // seconds

// Identifies the scope of our process numbers: a host and a process namespace on it.
std::string host_identity() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::error_code code;
  const fs::path processes = fs::read_symlink("/proc/self/ns/pid", code);
  return digest_of(std::string(name) + "\n" + processes.string()).hex().substr(0, 16);
}

std::string new_owner() {
  static std::atomic<unsigned> counter = 0;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return host_identity() + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + "." +
         std::to_string(now);
}

// `now` is from the clock of the file system's server; ours may differ by more than a minute.
bool is_dead(const fs::path& file, time_t now) {
  const std::vector<std::string> parts = split(file.filename().string(), '.');
  if (parts.size() == 4 && parts[0] == host_identity()) {
    const long process = std::strtol(parts[1].c_str(), nullptr, 10);
    if (process > 0 && kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH)
      return true;
  }
  struct stat status{};
  return stat(file.c_str(), &status) == 0 && now - status.st_mtime > stale_after;
}

void break_if_dead(const fs::path& lock, time_t now) {
  std::error_code code;
  for (fs::directory_iterator it(lock, code), end; !code && it != end; it.increment(code))
    if (is_dead(it->path(), now))
      unlink(it->path().c_str());
}

} // namespace

Result<LayoutLock> LayoutLock::acquire(const fs::path& layout) {
  const fs::path lock = layout / ".xaas-lock";
  const std::string owner = new_owner();
  const fs::path ready = layout / (".xaas-lock-" + owner);
  const auto give_up = std::chrono::steady_clock::now() + patience;
  std::chrono::milliseconds pause(1);
  Result<void> failure;
  // Created anew for each attempt, so that its time is when the lock was taken.
  while (failure) {
    if (mkdir(ready.c_str(), 0777) != 0) {
      failure = errno_error(errno, "locking " + layout.string());
      break;
    }
    failure = write_file(ready / owner, "", 0644, false);
    if (failure && std::rename(ready.c_str(), lock.c_str()) == 0)
      return LayoutLock(lock / owner);
    const int number = errno;
    struct stat status{};
    const bool dated = stat((ready / owner).c_str(), &status) == 0;
    remove_tree(ready);
    if (!failure)
      break;
    if (number != ENOTEMPTY && number != EEXIST) {
      failure = errno_error(number, "locking " + layout.string());
      break;
    }
    if (dated)
      break_if_dead(lock, status.st_mtime);
    if (failure = check_interrupt(); !failure)
      break;
    if (std::chrono::steady_clock::now() > give_up)
      return make_error(ErrorKind::failed,
                        "locking " + layout.string() + ": another process holds " + lock.string(),
                        "if no other xaas is writing to this layout, remove that directory");
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
  return std::move(failure).error();
}

LayoutLock::~LayoutLock() {
  if (file_.empty())
    return;
  unlink(file_.c_str());
  rmdir(file_.parent_path().c_str()); // fails if another process has taken it meanwhile
}

bool LayoutLock::held() const {
  struct stat status{};
  return stat(file_.c_str(), &status) == 0;
}

} // namespace xaas::oci
