#include "rooted_tree.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

namespace xaas::oci {

namespace {

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr unsigned most_links = 40; // as in Linux
constexpr size_t deepest = 256;     // so that the tree can be removed with few open files

// A name that this file system rejects is the layer's fault; a full disk is not.
Error failure(int number, const std::string& path) {
  const bool layer = number == ENAMETOOLONG || number == ELOOP || number == ENOTDIR || number == EISDIR ||
                     number == EEXIST || number == ENOTEMPTY || number == EILSEQ || number == ENOENT;
  Error error = errno_error(number, "unpacking '" + path + "'");
  if (layer)
    error.kind = ErrorKind::integrity;
  return error;
}

std::string read_link(int directory, const std::string& name) {
  std::string destination(4096, '\0');
  const ssize_t count = readlinkat(directory, name.c_str(), destination.data(), destination.size());
  destination.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return destination;
}

Result<std::vector<std::string>> names_in(int directory, const std::string& path) {
  FileDescriptor again(openat(directory, ".", directory_flags));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(again ? fdopendir(again.get()) : nullptr, closedir);
  if (!stream)
    return failure(errno, path);
  again.release(); // closedir() closes it
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get()))
    if (const std::string name = entry->d_name; name != "." && name != "..")
      names.push_back(name);
  return names;
}

Result<void> copy_between(int from, int to, const std::string& path) {
  std::vector<char> buffer(256 * 1024);
  while (true) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count < 0)
      return failure(errno, path);
    if (count == 0)
      return {};
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = ::write(to, buffer.data() + done, static_cast<size_t>(count - done));
      if (written < 0)
        return failure(errno, path);
      done += written;
    }
  }
}

} // namespace

Result<RootedTree> RootedTree::open(const fs::path& root) {
  FileDescriptor directory(::open(root.c_str(), directory_flags));
  if (!directory)
    return errno_error(errno, "opening " + root.string());
  return RootedTree(std::move(directory));
}

// Opens a directory by a path without symlinks.
Result<FileDescriptor> RootedTree::open_directory(const std::vector<std::string>& path) const {
  FileDescriptor directory(openat(root_.get(), ".", directory_flags));
  for (const std::string& name : path) {
    if (!directory)
      break;
    directory = FileDescriptor(openat(directory.get(), name.c_str(), directory_flags));
  }
  if (!directory)
    return failure(errno, join(path, "/"));
  return directory;
}

Result<RootedTree::Place> RootedTree::locate(const std::string& path, bool create) {
  Walk walk;
  walk.ahead = split(path, '/');
  const std::string name = walk.ahead.back();
  walk.ahead.pop_back();
  std::reverse(walk.ahead.begin(), walk.ahead.end());
  XAAS_TRY(walk.directory, open_directory({}));
  size_t own =
      walk.ahead.size(); // components of `path`; the rest comes from symlinks, whose destinations must exist
  while (!walk.ahead.empty()) {
    const bool from_link = walk.ahead.size() > own;
    own = std::min(own, walk.ahead.size() - 1);
    const std::string next = walk.ahead.back();
    walk.ahead.pop_back();
    XAAS_CHECK(step(walk, next, create && !from_link, path));
  }
  return Place{std::move(walk.directory), join(walk.path, "/"), name};
}

Result<void> RootedTree::step(Walk& walk, const std::string& name, bool create, const std::string& whole) {
  if (name.empty() || name == ".")
    return {};
  if (name == "..") { // only from a symlink; the parent of the root is the root
    if (!walk.path.empty())
      walk.path.pop_back();
    XAAS_TRY(walk.directory, open_directory(walk.path));
    return {};
  }
  if (walk.path.size() == deepest)
    return make_error(ErrorKind::integrity, "unpacking '" + whole + "': more than " +
                                                std::to_string(deepest) + " directories deep");
  struct stat status{};
  if (fstatat(walk.directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT)
      return failure(errno, whole);
    if (!create)
      return make_error(ErrorKind::integrity, "unpacking '" + whole + "': '" + name + "' is not there");
    if (mkdirat(walk.directory.get(), name.c_str(), 0700) != 0)
      return failure(errno, whole);
    std::vector<std::string> made = walk.path;
    made.push_back(name);
    modes_[join(made, "/")] = 0755;
    made_.insert(join(made, "/"));
  } else if (S_ISLNK(status.st_mode)) {
    return follow(walk, name, whole);
  }
  FileDescriptor next(openat(walk.directory.get(), name.c_str(), directory_flags));
  if (!next)
    return failure(errno, whole);
  walk.directory = std::move(next);
  walk.path.push_back(name);
  return {};
}

Result<void> RootedTree::follow(Walk& walk, const std::string& name, const std::string& whole) const {
  std::vector<std::string> link = walk.path;
  link.push_back(name);
  if (links_.contains(join(link, "/")))
    return make_error(ErrorKind::integrity, "unpacking '" + whole +
                                                "': the path leads through the symlink '" + join(link, "/") +
                                                "' of the same layer");
  if (++walk.links > most_links)
    return make_error(ErrorKind::integrity, "unpacking '" + whole + "': too many symlinks");
  const std::string destination = read_link(walk.directory.get(), name);
  if (!destination.empty() && destination.front() == '/') {
    walk.path.clear();
    XAAS_TRY(walk.directory, open_directory({}));
  }
  const std::vector<std::string> parts = split(destination, '/');
  walk.ahead.insert(walk.ahead.end(), parts.rbegin(), parts.rend());
  return {};
}

// Removes what is at the place of a new file, and records that this layer creates it.
Result<void> RootedTree::clear(const Place& place) {
  XAAS_CHECK(remove(place.directory.get(), place.name, place.path(), false));
  links_.erase(place.path());
  made_.insert(place.path());
  return {};
}

bool RootedTree::exists(const Place& place) const {
  struct stat status{};
  return fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<void> RootedTree::make_directory(const Place& place, unsigned mode) {
  struct stat status{};
  const bool there = fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISDIR(status.st_mode);
  if (!there) {
    XAAS_CHECK(clear(place));
    if (mkdirat(place.directory.get(), place.name.c_str(), 0700) != 0)
      return failure(errno, place.path());
  }
  made_.insert(place.path());
  modes_[place.path()] = mode & 0777;
  return {};
}

Result<FileDescriptor> RootedTree::create_file(const Place& place) {
  XAAS_CHECK(clear(place));
  FileDescriptor file(openat(place.directory.get(), place.name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    return failure(errno, place.path());
  return file;
}

Result<void> RootedTree::make_symlink(const Place& place, const std::string& destination) {
  XAAS_CHECK(clear(place));
  links_.insert(place.path());
  if (symlinkat(destination.c_str(), place.directory.get(), place.name.c_str()) != 0)
    return failure(errno, place.path());
  return {};
}

Result<void> RootedTree::make_hard_link(const Place& from, const Place& place) {
  if (from.path() == place.path())
    return make_error(ErrorKind::integrity, "unpacking '" + place.path() + "': a hard link to itself");
  struct stat status{};
  if (fstatat(from.directory.get(), from.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return make_error(ErrorKind::integrity, "unpacking '" + place.path() + "': it is a hard link to '" +
                                                from.path() + "', which is not there");
  if (S_ISLNK(status.st_mode)) // copies a symlink instead of linking it
    return make_symlink(place, read_link(from.directory.get(), from.name));
  if (!S_ISREG(status.st_mode))
    return make_error(ErrorKind::integrity, "unpacking '" + place.path() + "': it is a hard link to '" +
                                                from.path() + "', which is not a file");
  XAAS_CHECK(clear(place));
  if (linkat(from.directory.get(), from.name.c_str(), place.directory.get(), place.name.c_str(), 0) == 0)
    return {};
  // Some shared file systems lack hard links; then copy the file.
  XAAS_TRY(const FileDescriptor target, create_file(place));
  FileDescriptor source(openat(from.directory.get(), from.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source)
    return failure(errno, from.path());
  XAAS_CHECK(copy_between(source.get(), target.get(), place.path()));
  if (fchmod(target.get(), status.st_mode & 0777) != 0)
    return failure(errno, place.path());
  return {};
}

Result<void> RootedTree::hide(const Place& place) {
  return remove(place.directory.get(), place.name, place.path(), true);
}

Result<void> RootedTree::hide_siblings(const Place& place) {
  return remove_children(place.directory.get(), place.parent, true);
}

Result<void> RootedTree::remove(int directory, const std::string& name, const std::string& path,
                                bool spare_made) {
  struct stat status{};
  if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Result<void>() : Result<void>(failure(errno, path));
  const bool spared = spare_made && made_.contains(path);
  if (!S_ISDIR(status.st_mode)) {
    if (!spared && unlinkat(directory, name.c_str(), 0) != 0)
      return failure(errno, path);
    return {};
  }
  const FileDescriptor child(openat(directory, name.c_str(), directory_flags));
  if (!child)
    return failure(errno, path);
  XAAS_CHECK(remove_children(child.get(), path, spare_made));
  if (spared)
    return {};
  if (unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0) {
    // Keeps what this layer put into the directory, and the directory itself.
    return errno == ENOTEMPTY && spare_made ? Result<void>() : Result<void>(failure(errno, path));
  }
  modes_.erase(path);
  return {};
}

Result<void> RootedTree::remove_children(int directory, const std::string& path, bool spare_made) {
  XAAS_TRY(const std::vector<std::string> names, names_in(directory, path));
  for (const std::string& name : names)
    XAAS_CHECK(remove(directory, name, path.empty() ? name : path + "/" + name, spare_made));
  return {};
}

Result<void> RootedTree::finish() {
  // Children before parents, because a parent's mode may deny access.
  for (auto it = modes_.rbegin(); it != modes_.rend(); ++it) {
    XAAS_TRY(const FileDescriptor directory, open_directory(split(it->first, '/')));
    if (fchmod(directory.get(), it->second) != 0)
      return failure(errno, it->first);
  }
  return {};
}

} // namespace xaas::oci
