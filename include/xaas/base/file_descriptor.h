// Open files.
#pragma once

#include <xaas/base/result.h>

#include <filesystem>
#include <unistd.h>
#include <utility>

namespace xaas {

// A file descriptor that the destructor closes.
class FileDescriptor {
public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { close(); }
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  // As close(2): -1 and errno if written data was lost.
  int close() { return fd_ < 0 ? 0 : ::close(release()); }

private:
  int fd_;
};

// Opens a regular file or /dev/null for reading. Anything else is an integrity error, because a pipe may have
// no writer and a device no end. A pipe or terminal is accepted only under a name that announces one:
// /dev/stdin, or /dev/fd/N, as in a shell's `<(command)`.
enum class Links { follow, refuse }; // if `path` is a symbolic link
Result<FileDescriptor> open_file(const std::filesystem::path& path, Links links = Links::follow);

} // namespace xaas
