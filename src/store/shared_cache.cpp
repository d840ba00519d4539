#include "entry.h"

#include <xaas/base/file_descriptor.h>
#include <xaas/store/shared_cache.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::store {

namespace {

constexpr uint64_t max_entry = uint64_t(1) << 32;

bool owned(const struct stat& status, const std::vector<uid_t>& owners, bool vouched_for) {
  return vouched_for || std::find(owners.begin(), owners.end(), status.st_uid) != owners.end();
}

// The mode bits that must be clear: only the owner may write, and a group if root vouches for it.
bool closed(const struct stat& status, bool vouched_for) {
  return (status.st_mode & (vouched_for ? 002u : 022u)) == 0;
}

Result<void> check(const fs::path& directory, const std::vector<uid_t>& owners, bool vouched_for) {
  struct stat status{};
  if (stat(directory.c_str(), &status) != 0)
    return errno_error(errno, "reading " + directory.string());
  if (!S_ISDIR(status.st_mode))
    return errno_error(ENOTDIR, "reading " + directory.string());
  if (!owned(status, owners, vouched_for))
    return make_error(
        ErrorKind::storage,
        directory.string() + ": belongs to user " + std::to_string(status.st_uid) +
            ", who is neither root nor you",
        "its content would become part of your programs; a site settings file owned by root can "
        "vouch for it");
  if (!closed(status, vouched_for))
    return make_error(ErrorKind::storage, directory.string() + ": users other than its owner can write to it",
                      "what they put there would become part of your programs");
  return {};
}

std::optional<std::string> read_all(int fd, size_t size) {
  std::string bytes(size, '\0');
  for (size_t used = 0; used < size;) {
    const ssize_t count = read(fd, bytes.data() + used, size - used);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return std::nullopt;
    used += static_cast<size_t>(count);
  }
  return bytes;
}

} // namespace

Result<SharedCache> SharedCache::open(fs::path root, std::vector<uid_t> owners, bool vouched_for) {
  XAAS_CHECK(check(root.parent_path(), owners, vouched_for));
  XAAS_CHECK(check(root, owners, vouched_for));
  return SharedCache(std::move(root), std::move(owners), vouched_for);
}

SharedCache SharedCache::at(fs::path root, bool vouched_for) {
  std::vector<uid_t> owners = {0, geteuid()};
  struct stat status{};
  if (stat(root.c_str(), &status) == 0)
    owners.push_back(status.st_uid);
  return SharedCache(std::move(root), std::move(owners), vouched_for);
}

bool SharedCache::believed(int descriptor) const {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && owned(status, owners_, vouched_for_) &&
         closed(status, vouched_for_);
}

std::optional<std::string> SharedCache::get(const Digest& key) const {
  const fs::path path = root_ / entry_path(key);
  const FileDescriptor directory(
      ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.get() < 0 || !believed(directory.get()))
    return std::nullopt;
  const FileDescriptor file(
      openat(directory.get(), path.filename().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (file.get() < 0 || !believed(file.get()) || fstat(file.get(), &status) != 0 ||
      !S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) > max_entry)
    return std::nullopt;
  const std::optional<std::string> bytes = read_all(file.get(), static_cast<size_t>(status.st_size));
  return bytes ? from_entry(key, *bytes) : std::nullopt;
}

} // namespace xaas::store
