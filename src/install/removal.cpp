#include "removal.h"

#include <xaas/base/file_descriptor.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::install {

namespace {

std::string link_at(int directory, const std::string& name) {
  std::string destination(size_t(1) << 16, '\0');
  const ssize_t size = readlinkat(directory, name.c_str(), destination.data(), destination.size());
  return size < 0 ? std::string() : destination.substr(0, static_cast<size_t>(size));
}

class Removal {
public:
  Removal(fs::path prefix, FileDescriptor root) : prefix_(std::move(prefix)), root_(std::move(root)) {}

  void remove(const std::string& path, const std::string& content) {
    const std::string name = fs::path(path).filename();
    const FileDescriptor above = open_above(path);
    struct stat status{};
    if (above.get() < 0 || fstatat(above.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return; // it is not there
    if (S_ISDIR(status.st_mode)) {
      if (content.empty()) // stays while something is in it
        unlinkat(above.get(), name.c_str(), AT_REMOVEDIR);
      return;
    }
    if (content.empty() || !is_same(above.get(), name, status, content, prefix_ / path))
      return;
    if (unlinkat(above.get(), name.c_str(), 0) == 0)
      ++removed_.files;
    else if (errno != ENOENT)
      fail(errno_error(errno, "removing " + (prefix_ / path).string()));
  }

  RemovedFiles result() { return std::move(removed_); }

private:
  void fail(Error error) {
    if (!removed_.error)
      removed_.error = std::move(error);
  }

  // The directory of a path; closed if a part of it is missing or no directory.
  FileDescriptor open_above(const std::string& path) const {
    FileDescriptor directory(fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
    for (const fs::path& part : fs::path(path).parent_path())
      directory = FileDescriptor(
          openat(directory.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return directory;
  }

  bool is_same(int above, const std::string& name, const struct stat& status, const std::string& content,
               const fs::path& path) {
    if (S_ISLNK(status.st_mode))
      return content == "-> " + link_at(above, name);
    if (!S_ISREG(status.st_mode))
      return false;
    const FileDescriptor file(openat(above, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const Result<Digest> digest = file.get() < 0
                                      ? Result<Digest>(errno_error(errno, "reading " + path.string()))
                                      : digest_of_open(file.get(), path);
    if (!digest)
      fail(digest.error());
    return digest && digest->to_string() == content;
  }

  fs::path prefix_;
  FileDescriptor root_;
  RemovedFiles removed_;
};

} // namespace

Result<RemovedFiles> remove_files(const fs::path& prefix, const Manifest& manifest) {
  FileDescriptor root(open(prefix.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0)
    return errno_error(errno, "reading " + prefix.string());
  Removal removal(prefix, std::move(root));
  // Backwards: what a directory contains comes before the directory.
  for (auto file = manifest.files.rbegin(); file != manifest.files.rend(); ++file)
    removal.remove(file->first, file->second);
  return removal.result();
}

} // namespace xaas::install
