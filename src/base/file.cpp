#include <xaas/base/file.h>
#include <xaas/base/file_descriptor.h>
#include <xaas/base/huge_pages.h>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

namespace xaas {

namespace {

Result<void> write_to(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno_error(errno, "writing " + path.string());
    content.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

} // namespace

// These names denote a descriptor that this process inherited, not a file.
static bool names_what_was_given(const fs::path& path) {
  const std::string& name = path.native();
  return name == "/dev/stdin" || name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/");
}

// Opens a regular file on which another process holds a lease (fcntl(2), F_SETLEASE; file servers do this),
// by waiting until the lease is released. The file must still be the one that was examined.
static FileDescriptor open_leased(const fs::path& path, int flags) {
  const FileDescriptor place(open(path.c_str(), O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)));
  struct stat status{};
  if (!place || fstat(place.get(), &status) != 0)
    return FileDescriptor();
  if (!S_ISREG(status.st_mode)) {
    errno = ENXIO;
    return FileDescriptor();
  }
  return FileDescriptor(
      open(("/proc/self/fd/" + std::to_string(place.get())).c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
}

Result<FileDescriptor> open_file(const fs::path& path, Links links) {
  const bool follow = links == Links::follow;
  // Without O_NONBLOCK, opening a pipe waits until another process opens its other end.
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
  FileDescriptor file(open(path.c_str(), flags));
  if (!file && errno == EWOULDBLOCK)
    file = open_leased(path, flags);
  if (!file && errno == ELOOP && !follow)
    return make_error(ErrorKind::integrity, path.string() + ": a symbolic link, not a file");
  const auto no_file = [&path] {
    return make_error(ErrorKind::integrity, path.string() + ": not a regular file");
  };
  if (!file && errno == ENXIO) // a socket
    return no_file();
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0)
    return errno_error(errno, "reading " + path.string());
  const dev_t null = makedev(1, 3); // Linux Documentation/admin-guide/devices.txt
  if (S_ISREG(status.st_mode) || (follow && S_ISCHR(status.st_mode) && status.st_rdev == null))
    return file;
  if (follow && S_ISDIR(status.st_mode))
    return make_error(ErrorKind::not_found, "reading " + path.string() + ": it is a directory, not a file");
  if (!follow || !names_what_was_given(path))
    return no_file();
  fcntl(file.get(), F_SETFL, 0); // reads may block again
  return file;
}

static Result<std::string> read_open(const FileDescriptor& file, const fs::path& path, uint64_t limit) {
  struct stat status{};
  if (fstat(file.get(), &status) != 0)
    return errno_error(errno, "reading " + path.string());
  if (static_cast<uint64_t>(status.st_size) > limit)
    return make_error(ErrorKind::integrity, path.string() + ": " + std::to_string(status.st_size) +
                                                " bytes, more than the " + std::to_string(limit) +
                                                " allowed");
  // Files of /proc and /sys report size 0, so read to the end regardless of the size. One byte more shows the
  // end without growing the string, which would copy it.
  std::string content;
  reserve(content, static_cast<size_t>(status.st_size) + 1);
  content.resize(content.capacity());
  size_t used = 0;
  while (true) {
    if (used == content.size())
      content.resize(content.size() + 65536);
    const ssize_t count = ::read(file.get(), content.data() + used, content.size() - used);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno_error(errno, "reading " + path.string());
    if (count == 0)
      break;
    used += static_cast<size_t>(count);
    if (used > limit)
      return make_error(ErrorKind::integrity,
                        path.string() + ": more than the " + std::to_string(limit) + " bytes allowed");
  }
  content.resize(used);
  return content;
}

Result<std::string> read_file(const fs::path& path, uint64_t limit) {
  XAAS_TRY(const FileDescriptor file, open_file(path));
  return read_open(file, path, limit);
}

Result<std::string> read_plain_file(const fs::path& path, uint64_t limit) {
  XAAS_TRY(const FileDescriptor file, open_file(path, Links::refuse));
  return read_open(file, path, limit);
}

// Creates a file beside `path` and stores its name in `temporary`. It does not use mkostemp(), which creates
// files with mode 0600: only creating a file with another mode shows what the umask allows.
static int create_beside(const fs::path& path, unsigned mode, std::string& temporary) {
  constexpr int tries = 100;
  int file = -1;
  for (int i = 0; i < tries && file < 0; ++i) {
    unsigned char random[6];
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
      return -1;
    std::string name = ".xaas-tmp-";
    for (const unsigned char byte : random)
      name += "abcdefghijklmnopqrstuvwxyz012345"[byte % 32];
    temporary = (path.parent_path() / name).string();
    file = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode));
    if (file < 0 && errno != EEXIST)
      return -1;
  }
  return file;
}

Result<FileWriter> FileWriter::create(const fs::path& path, unsigned mode) {
  std::string temporary;
  const int file = create_beside(path, mode, temporary);
  if (file < 0)
    return errno_error(errno, "writing " + path.string());
  return FileWriter(path, std::move(temporary), file);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, -1)) {}

FileWriter::~FileWriter() {
  if (file_ >= 0)
    ::close(file_);
  if (!temporary_.empty())
    unlink(temporary_.c_str());
}

Result<void> FileWriter::write(std::string_view data) {
  return write_to(file_, data, path_);
}

Result<void> FileWriter::commit(bool durable) {
  return commit_as(path_, durable);
}

Result<void> FileWriter::commit_as(const fs::path& path, bool durable) {
  if ((durable && fsync(file_) != 0) || ::close(std::exchange(file_, -1)) != 0 ||
      rename(temporary_.c_str(), path.c_str()) != 0)
    return errno_error(errno, "writing " + path.string());
  temporary_.clear();
  return {};
}

Result<void> append_file(const fs::path& path, std::string_view lines) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return errno_error(errno, "writing " + path.string());
  const ssize_t written = write(file, lines.data(), lines.size());
  const int error = written < 0 ? errno : ENOSPC;
  close(file);
  if (written != static_cast<ssize_t>(lines.size()))
    return errno_error(error, "writing " + path.string());
  return {};
}

Result<void> write_file(const fs::path& path, std::string_view content, unsigned mode, bool durable) {
  XAAS_TRY(FileWriter writer, FileWriter::create(path, mode));
  XAAS_CHECK(writer.write(content));
  return writer.commit(durable);
}

Result<void> write_output(const fs::path& path, std::string_view content, unsigned mode) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status) || fs::is_regular_file(status))
    return write_file(path, content, mode, false);
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (file.get() < 0)
    return errno_error(errno, "writing " + path.string());
  XAAS_CHECK(write_to(file.get(), content, path));
  if (file.close() != 0)
    return errno_error(errno, "writing " + path.string());
  return {};
}

Result<void> make_directories(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  std::error_code ignored;
  if (code && !fs::is_directory(path, ignored))
    return errno_error(code.value(), "creating directory " + path.string());
  return {};
}

Result<void> copy_file(const fs::path& from, const fs::path& to) {
  struct stat status{};
  if (stat(from.c_str(), &status) != 0)
    return errno_error(errno, "reading " + from.string());
  XAAS_TRY(const std::string content, read_file(from));
  XAAS_CHECK(write_file(to, content, 0600, false));
  if (chmod(to.c_str(), status.st_mode & 07777) != 0) // regardless of the umask
    return errno_error(errno, "writing " + to.string());
  return {};
}

void remove_tree(const fs::path& path) {
  std::error_code code;
  fs::remove_all(path, code);
  if (!code)
    return;
  // A build may leave directories without write permission (Go modules, CMake fixtures): add it and try
  // again.
  const auto walk_options = fs::directory_options::skip_permission_denied;
  for (auto it = fs::recursive_directory_iterator(path, walk_options, code);
       !code && it != fs::recursive_directory_iterator(); it.increment(code)) {
    std::error_code ignored;
    if (!it->is_symlink(ignored) && it->is_directory(ignored))
      fs::permissions(it->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  }
  fs::remove_all(path, code);
}

fs::path temporary_root() {
  const char* directory = std::getenv("TMPDIR");
  return directory && *directory ? fs::path(directory) : fs::path("/tmp");
}

fs::path relative_under(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_normal().lexically_relative(root.lexically_normal());
  if (relative.empty() || *relative.begin() == "..")
    return {};
  return relative;
}

} // namespace xaas
