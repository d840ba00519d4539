#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/base/umask.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <sys/stat.h>

namespace xaas {

namespace {

std::mutex mutex;                 // guards the following variables and the mask
std::optional<mode_t> users_mask; // if the process has another one
unsigned users = 0;               // objects of UserUmask
mode_t others_mask = 0;           // while there are none

// proc(5), /proc/pid/status: "Umask:" in octal. umask() only returns the mask when it sets another one.
mode_t present_mask() {
  const Result<std::string> status = read_file("/proc/self/status");
  for (const std::string& line : split(status ? *status : "", '\n'))
    if (line.starts_with("Umask:"))
      return static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
  const mode_t mask = umask(077); // Linux before 4.7
  umask(mask);
  return mask;
}

} // namespace

void use_common_umask() {
  const std::lock_guard<std::mutex> lock(mutex);
  const mode_t before = umask(022);
  if (!users_mask)
    users_mask = before;
}

UserUmask::UserUmask() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (users_mask && users++ == 0)
    others_mask = umask(*users_mask);
}

UserUmask::~UserUmask() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (users_mask && --users == 0)
    umask(others_mask);
}

mode_t with_umask(mode_t mode) {
  const std::lock_guard<std::mutex> lock(mutex);
  return mode & ~present_mask();
}

} // namespace xaas
