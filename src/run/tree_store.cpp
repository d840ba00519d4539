#include <xaas/base/process.h>
#include <xaas/oci/layer.h>
#include <xaas/run/tree_store.h>
#include <xaas/store/cache.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace xaas::run {

namespace {

constexpr const char* use_suffix = ".use";
constexpr const char* temporary_prefix = ".xaas-tmp-";
constexpr useconds_t lock_pause = 50'000;

bool is_at(int file, const fs::path& path) {
  struct stat opened{};
  struct stat named{};
  return fstat(file, &opened) == 0 && lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

bool is_tree(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(fs::symlink_status(path, code));
}

// A lock, or nothing on a file system without locks.
enum class Locked { yes, busy, never };
Locked lock(int file, int kind) {
  int result = 0;
  while ((result = flock(file, kind | LOCK_NB)) != 0 && errno == EINTR) {
  }
  return result == 0 ? Locked::yes : errno == EWOULDBLOCK ? Locked::busy : Locked::never;
}

uint64_t bytes_below(const fs::path& directory) {
  uint64_t bytes = 0;
  std::error_code code;
  const auto walk = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, walk, code), end; !code && it != end;
       it.increment(code)) {
    struct stat status{};
    if (lstat(it->path().c_str(), &status) == 0)
      bytes += static_cast<uint64_t>(status.st_blocks) * 512; // as stat(2) counts
  }
  return bytes;
}

Result<void> make_tree(const TreeStore::MakeTree& make, const fs::path& tree, int use, Progress& progress) {
  progress.start("unpacking", 0);
  const Result<void> unpacked = make(tree, progress);
  progress.finish();
  if (!unpacked && !is_tree(tree)) // otherwise another run was faster, on another node or without locks
    return unpacked.error();
  const std::string size = std::to_string(bytes_below(tree));
  if (ftruncate(use, 0) != 0 || pwrite(use, size.data(), size.size(), 0) < 0)
    return errno_error(errno, "writing " + tree.string() + use_suffix);
  return {};
}

} // namespace

TreeUse::TreeUse(TreeUse&& other) noexcept
    : tree_(std::move(other.tree_)), lock_(std::exchange(other.lock_, -1)), fresh_(other.fresh_) {}

TreeUse& TreeUse::operator=(TreeUse&& other) noexcept {
  std::swap(tree_, other.tree_);
  std::swap(lock_, other.lock_);
  std::swap(fresh_, other.fresh_);
  return *this;
}

TreeUse::~TreeUse() {
  if (lock_ >= 0)
    close(lock_);
}

void TreeUse::leave_open() const {
  if (lock_ >= 0)
    fcntl(lock_, F_SETFD, 0);
}

Result<TreeStore> TreeStore::open(fs::path root) {
  XAAS_TRY([[maybe_unused]] const store::Cache trusted, store::Cache::open(root)); // applies the same rule
  return TreeStore(std::move(root));
}

Result<TreeUse> TreeStore::get(const oci::Image& image, Progress& progress) const {
  return get(image.digest(), [&](Progress& reading) { return oci::open_layers(image, reading); }, progress);
}

Result<TreeUse> TreeStore::get(const Digest& digest, const OpenLayers& open, Progress& progress) const {
  const auto make = [&](const fs::path& directory, Progress& reading) -> Result<void> {
    XAAS_TRY(const oci::Layers layers, open(reading));
    return oci::unpack(layers, directory);
  };
  return get_made(digest, make, progress);
}

Result<TreeUse> TreeStore::get_made(const Digest& digest, const MakeTree& make, Progress& progress) const {
  const fs::path tree = root_ / digest.hex();
  const fs::path name = tree.string() + use_suffix;
  bool said = false, fresh = false;
  while (true) {
    XAAS_CHECK(check_interrupt());
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
      return errno_error(errno, "writing " + name.string());
    TreeUse use(tree, file, fresh);
    const Locked shared = lock(file, LOCK_SH);
    if (shared != Locked::busy && is_at(file, name) && is_tree(tree)) {
      futimens(file, nullptr);
      return use;
    }
    // Another run holds the lock to make or remove the tree, or there is no lock. Asking for the exclusive
    // lock gives up the shared one.
    const Locked whole = lock(file, LOCK_EX);
    if (whole != Locked::busy && is_at(file, name)) {
      if (!is_tree(tree)) {
        XAAS_CHECK(make_tree(make, tree, file, progress));
        fresh = true;
      }
      continue; // take the shared lock again
    }
    if (whole == Locked::busy && !std::exchange(said, true))
      progress.start("waiting for another run that unpacks the image", 0);
    usleep(lock_pause);
  }
}

std::vector<TreeStore::Entry> TreeStore::entries() const {
  std::vector<Entry> entries;
  std::error_code code;
  for (fs::directory_iterator it(root_, code), end; !code && it != end; it.increment(code)) {
    const std::string file = it->path().filename();
    if (file.size() != 2 * Digest::size + std::string_view(use_suffix).size() ||
        it->path().extension() != use_suffix)
      continue;
    Entry entry{it->path().stem(), 0, {}};
    if (!is_tree(root_ / entry.name))
      continue;
    std::error_code trouble;
    entry.used = it->last_write_time(trouble);
    const Result<std::string> size = read_file(it->path(), 64);
    entry.bytes =
        size && !size->empty() ? std::strtoull(size->c_str(), nullptr, 10) : bytes_below(root_ / entry.name);
    if (!trouble)
      entries.push_back(std::move(entry));
  }
  return entries;
}

bool TreeStore::remove(const Entry& entry) const {
  const fs::path name = root_ / (entry.name + use_suffix);
  const int file = ::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0)
    return false;
  bool removed = false;
  if (lock(file, LOCK_EX) == Locked::yes && is_at(file, name)) {
    // By rename, so that a tree is never partial. A killed run leaves a temporary directory.
    Result<TemporaryDirectory> gone = TemporaryDirectory::create(root_, temporary_prefix);
    std::error_code code;
    if (gone)
      fs::rename(root_ / entry.name, gone->path() / "tree", code);
    removed = gone && !code;
    if (removed)
      fs::remove(name, code);
  }
  close(file);
  return removed;
}

Result<uint64_t> TreeStore::prune(uint64_t max_bytes) const {
  remove_abandoned(root_, temporary_prefix);
  std::vector<Entry> all = entries();
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  uint64_t bytes = 0;
  for (const Entry& entry : all)
    bytes += entry.bytes;
  for (const Entry& entry : all) {
    XAAS_CHECK(check_interrupt());
    if (bytes <= max_bytes)
      break;
    if (remove(entry))
      bytes -= entry.bytes;
  }
  return bytes;
}

} // namespace xaas::run
