#include "standard_input.h"

#include <xaas/base/child.h>
#include <xaas/base/file_descriptor.h>

#include <array>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace xaas::frontdoor {
namespace {

bool kept = false;

} // namespace

bool is_standard_input(const std::string& name) {
  return name == "-" || name == "/dev/stdin" || name == "/dev/fd/0" || name == "/proc/self/fd/0";
}

Result<void> keep_standard_input() {
  const FileDescriptor copy(memfd_create("standard input", MFD_CLOEXEC));
  if (!copy)
    return errno_error(errno, "keeping the source from standard input");
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return errno_error(errno, "reading a source from standard input");
    if (got == 0)
      break;
    if (!write_all(copy.get(), {buffer.data(), static_cast<size_t>(got)}))
      return errno_error(errno, "keeping the source from standard input");
  }
  if (dup2(copy.get(), STDIN_FILENO) < 0) // without the flag that would close it in other programs
    return errno_error(errno, "keeping the source from standard input");
  kept = true;
  rewind_standard_input();
  return {};
}

void rewind_standard_input() {
  if (kept)
    lseek(STDIN_FILENO, 0, SEEK_SET);
}

} // namespace xaas::frontdoor
