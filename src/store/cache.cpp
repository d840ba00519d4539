// One file per entry (entry.h). The file's modification time is the time of last use, because access times
// are often switched off.
#include "entry.h"

#include <xaas/store/cache.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace xaas::store {

namespace {

constexpr auto abandoned = std::chrono::hours(1); // no write takes that long

// Only the files of a cache: whichever directory was named, nothing else in it is removed.
constexpr size_t directory_name = 2, file_name = 2 * Digest::size - directory_name;

bool is_hex(const std::string& name, size_t length) {
  return name.size() == length && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

struct Entry {
  fs::path path;
  fs::file_time_type used;
  uint64_t bytes = 0;
};

bool is_leftover(const fs::directory_entry& file, fs::file_time_type now) {
  std::error_code code;
  const fs::file_time_type written = file.last_write_time(code);
  return !code && file.path().filename().string().starts_with(".xaas-tmp-") && now - written > abandoned;
}

// With `clean`, also removes what killed writers left. Ignores files that another process removes meanwhile.
std::vector<Entry> entries_below(const fs::path& root, bool clean) {
  std::vector<Entry> entries;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  std::error_code code;
  for (fs::directory_iterator directory(root, code), end; !code && directory != end;
       directory.increment(code)) {
    std::error_code ignored;
    if (!is_hex(directory->path().filename().string(), directory_name) || directory->is_symlink(ignored))
      continue;
    for (fs::directory_iterator it(directory->path(), ignored); !ignored && it != end;
         it.increment(ignored)) {
      std::error_code trouble;
      if (it->is_symlink(trouble) || !it->is_regular_file(trouble))
        continue;
      if (clean && is_leftover(*it, now))
        fs::remove(it->path(), trouble);
      if (!is_hex(it->path().filename().string(), file_name))
        continue;
      Entry entry{it->path(), it->last_write_time(trouble), it->file_size(trouble)};
      if (!trouble)
        entries.push_back(std::move(entry));
    }
  }
  return entries;
}

} // namespace

Result<Cache> Cache::open(fs::path root) {
  XAAS_CHECK(make_directories(root.parent_path()));
  if (mkdir(root.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, "creating " + root.string());
  struct stat status{};
  if (lstat(root.c_str(), &status) != 0)
    return errno_error(errno, "reading " + root.string());
  if (!S_ISDIR(status.st_mode))
    return errno_error(ENOTDIR, "reading " + root.string());
  if ((status.st_uid != geteuid() && status.st_uid != 0) || (status.st_mode & 022) != 0)
    return make_error(
        ErrorKind::storage, root.string() + ": users other than you can write to this directory",
        "what they put there would become part of your programs: run `chmod go-w` on it, or set "
        "XAAS_CACHE_DIR to a directory of your own");
  if (access(root.c_str(), W_OK | X_OK) != 0)
    return errno_error(errno, "writing " + root.string());
  return Cache(std::move(root));
}

Cache Cache::at(fs::path root) {
  return Cache(std::move(root));
}

// Entries are as readable as the directory, so a directory with mode 0755 can serve others as a shared cache.
unsigned Cache::shared_bits() const {
  struct stat status{};
  return lstat(root_.c_str(), &status) == 0 ? status.st_mode & 0055u : 0;
}

fs::path Cache::path_of(const Digest& key) const {
  return root_ / entry_path(key);
}

std::optional<std::string> Cache::get(const Digest& key) const {
  const fs::path path = path_of(key);
  if (const Result<std::string> file = read_file(path))
    if (std::optional<std::string> value = from_entry(key, *file)) {
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      return value;
    }
  return shared_ ? shared_->get(key) : std::nullopt;
}

Result<void> Cache::put(const Digest& key, std::string_view value) const {
  const std::string entry = to_entry(key, value);
  if (entry.empty())
    return make_error(ErrorKind::failed, "compressing a cache entry");
  const fs::path path = path_of(key);
  const unsigned shared = shared_bits();
  if (mkdir(path.parent_path().c_str(), 0700) == 0) {
    if (shared && chmod(path.parent_path().c_str(), 0700 | shared) != 0) // regardless of the umask
      return errno_error(errno, "creating " + path.parent_path().string());
  } else if (errno != EEXIST) {
    return errno_error(errno, "creating " + path.parent_path().string());
  }
  XAAS_CHECK(write_file(path, entry, 0600, false));
  if (shared && chmod(path.c_str(), 0600 | (shared & 0044)) != 0)
    return errno_error(errno, "writing " + path.string());
  return {};
}

std::optional<fs::path> Cache::file(const Digest& key) const {
  fs::path path = path_of(key);
  if (utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0 && errno == ENOENT)
    return std::nullopt;
  return path;
}

Result<FileWriter> Cache::new_file(const Digest& key) const {
  const fs::path path = path_of(key);
  if (mkdir(path.parent_path().c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, "creating " + path.parent_path().string());
  return FileWriter::create(path, 0600);
}

void Cache::remove(const Digest& key) const {
  std::error_code code;
  fs::remove(path_of(key), code);
}

Cache::Use Cache::use() const {
  Use use;
  for (const Entry& entry : entries_below(root_, false)) {
    ++use.entries;
    use.bytes += entry.bytes;
  }
  return use;
}

Result<Cache::Use> prune(const std::vector<Cache>& caches, uint64_t max_bytes) {
  std::vector<Entry> entries;
  for (const Cache& cache : caches)
    for (Entry& entry : entries_below(cache.root(), true))
      entries.push_back(std::move(entry));
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used > b.used; });
  Cache::Use use;
  bool full = false;
  for (const Entry& entry : entries) {
    full = full || use.bytes + entry.bytes > max_bytes;
    if (!full) {
      ++use.entries;
      use.bytes += entry.bytes;
      continue;
    }
    std::error_code code;
    fs::remove(entry.path, code);
    if (code)
      return errno_error(code.value(), "removing " + entry.path.string());
  }
  return use;
}

} // namespace xaas::store
