// Temporary directories, and those that killed processes left behind.
//
// A killed process cannot clean up, so the next run does, and it must never touch a directory in use. A
// kernel lock (flock on the directory itself) decides: it ends with its last holder, however that ended, and
// does not depend on process numbers, which are reused and have no meaning in another container. Its reach is
// one machine, because on a network file system other machines may not see it. So the machine, more precisely
// the kernel's boot, is part of the name, and only directories of the same boot are examined. Where flock
// fails, nothing is removed. Rejected: a file in the directory that names the machine (another thing to
// create and to lose), and an age (builds take days). Only a directory with a reproducible name
// (create_named) contains such a file; one that has lost it is never removed.
#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas {

namespace {

constexpr size_t random_part = 6; // of mkdtemp

// Eight digits that identify the kernel's boot; empty if unknown.
const std::string& machine() {
  static const std::string name = [] {
    const Result<std::string> boot = read_file("/proc/sys/kernel/random/boot_id");
    return boot ? digest_of(*boot).hex().substr(0, 8) : std::string();
  }();
  return name;
}

bool is_at(int directory, const fs::path& path) {
  struct stat opened{};
  struct stat named{};
  return fstat(directory, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int open_directory(const fs::path& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// `<prefix>...<machine>-XXXXXX`
bool is_named(const std::string& name, const std::string& prefix) {
  const std::string middle = machine() + "-";
  return !machine().empty() && starts_with(name, prefix) &&
         name.size() >= prefix.size() + middle.size() + random_part &&
         name.compare(name.size() - random_part - middle.size(), middle.size(), middle) == 0;
}

constexpr const char* machine_file = ".xaas-machine"; // in a directory made by create_named()

bool has_our_mark(const fs::path& path) {
  const Result<std::string> mark = read_file(path / machine_file, 64);
  return mark && !machine().empty() && *mark == machine();
}

// Renames a directory with a machine file before removing it. A process killed while it removes the directory
// in place could leave one without that file, which nobody could remove or use.
void remove_directory(const fs::path& path) {
  std::string name = path.string() + "-" + machine() + "-XXXXXX";
  const bool renamed = has_our_mark(path) && mkdtemp(name.data()) && rename(path.c_str(), name.c_str()) == 0;
  remove_tree(renamed ? fs::path(name) : path);
}

bool remove_if_abandoned(const fs::path& path) {
  const int directory = open_directory(path);
  if (directory < 0)
    return false;
  struct stat status{};
  const bool ours = fstat(directory, &status) == 0 && status.st_uid == geteuid();
  const bool removed = ours && flock(directory, LOCK_EX | LOCK_NB) == 0 && is_at(directory, path);
  if (removed)
    remove_directory(path);
  close(directory);
  return removed;
}

} // namespace

Result<TemporaryDirectory> TemporaryDirectory::create(const fs::path& parent, const std::string& prefix) {
  XAAS_CHECK(make_directories(parent));
  const std::string what = "creating a temporary directory in " + parent.string();
  while (true) {
    std::string name = (parent / (prefix + machine() + "-XXXXXX")).string();
    if (!mkdtemp(name.data()))
      return errno_error(errno, what);
    const int directory = open_directory(name);
    // Between creation and locking, another run may have removed it as abandoned; then try again.
    if (directory < 0 && errno == ENOENT)
      continue;
    if (directory < 0) {
      const int number = errno;
      rmdir(name.c_str());
      return errno_error(number, what);
    }
    // Where locks do not work, others cannot lock it either and leave it alone.
    const bool taken = flock(directory, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && is_at(directory, name))
      return TemporaryDirectory(fs::path(name), directory);
    close(directory);
  }
}

Result<TemporaryDirectory> TemporaryDirectory::create_named(const fs::path& parent, const std::string& prefix,
                                                            const std::string& name) {
  XAAS_CHECK(make_directories(parent));
  const fs::path path = parent / (prefix + name);
  XAAS_TRY(TemporaryDirectory own, create(parent, prefix));
  // Locked before it gets its name: without a lock nobody could see that it is in use.
  if (machine().empty() || flock(own.lock_, LOCK_EX | LOCK_NB) != 0)
    return own;
  std::error_code code;
  if (fs::exists(fs::symlink_status(path, code)) && !(has_our_mark(path) && remove_if_abandoned(path)))
    return own;
  const fs::path mark = own.path() / machine_file;
  XAAS_CHECK(write_file(mark, machine(), 0600, false));
  if (renameat2(AT_FDCWD, own.path().c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 ||
      (errno == EINVAL &&
       rename(own.path().c_str(), path.c_str()) == 0)) // not supported by every file system
    own.path_ = path;
  else
    unlink(mark.c_str());
  return own;
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty())
    remove_directory(path_);
  if (lock_ >= 0)
    close(lock_);
}

std::vector<fs::path> remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::vector<fs::path> candidates;
  std::error_code code;
  for (fs::directory_iterator it(parent, code), end; !code && it != end; it.increment(code))
    if (const std::string name = it->path().filename().string();
        is_named(name, prefix) || (starts_with(name, prefix) && has_our_mark(it->path())))
      candidates.push_back(it->path());
  std::vector<fs::path> removed;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(removed), remove_if_abandoned);
  std::sort(removed.begin(), removed.end());
  return removed;
}

} // namespace xaas
