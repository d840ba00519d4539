// Open files.
#pragma once

#include <xaas/base/result.h>

#include <filesystem>
#include <unistd.h>
#include <utility>

namespace xaas {

// A file descriptor that is closed on every way out.
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
  // As close(2): -1 and errno where what was written is lost.
  int close() { return fd_ < 0 ? 0 : ::close(release()); }

private:
  int fd_;
};

// Opens a regular file, or /dev/null, to read it. All else is an integrity error that names it: a pipe could
// have nobody to write to it, a device no end. A pipe or terminal is taken where `path` itself says that it
// may be one: /dev/stdin, or /dev/fd/N, as a shell writes `<(command)`.
enum class Links { follow, refuse }; // where `path` is a symbolic link
Result<FileDescriptor> open_file(const std::filesystem::path& path, Links links = Links::follow);

} // namespace xaas
