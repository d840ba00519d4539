// One file per entry: its digest, then the value as one zstd frame. Entries are told apart by the time of
// their last use, which is the file's modification time: access times are often switched off.
#include <xaas/store/cache.h>

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace xaas::store {

namespace {

constexpr int compression_level = 1; // read and written far more often than kept
constexpr uint64_t max_value = uint64_t(1) << 32;
constexpr auto abandoned = std::chrono::hours(1); // no writer takes that long

std::string compressed(std::string_view value) {
  std::string frame(ZSTD_compressBound(value.size()), '\0');
  const size_t size =
      ZSTD_compress(frame.data(), frame.size(), value.data(), value.size(), compression_level);
  frame.resize(ZSTD_isError(size) ? 0 : size);
  return frame;
}

std::optional<std::string> decompressed(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > max_value) // also the two values that say "unknown" and "error"
    return std::nullopt;
  std::string value(size, '\0');
  const size_t done = ZSTD_decompress(value.data(), value.size(), frame.data(), frame.size());
  if (ZSTD_isError(done) || done != size)
    return std::nullopt;
  return value;
}

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes().data()), Digest::size};
}

// The files of a cache, and no others: whatever directory was named, nothing else in it is removed.
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

// With `clean`, also removes what killed writers left. Files that vanish while they are listed were removed
// by somebody else, which is fine.
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
    return make_error(ErrorKind::storage, root.string() + ": others than you may write this directory",
                      "what they put there would become part of your programs: `chmod go-w` it, or set "
                      "XAAS_CACHE_DIR to a directory of your own");
  if (access(root.c_str(), W_OK | X_OK) != 0)
    return errno_error(errno, "writing " + root.string());
  return Cache(std::move(root));
}

fs::path Cache::path_of(const Digest& key) const {
  const std::string hex = key.hex();
  return root_ / hex.substr(0, directory_name) / hex.substr(directory_name);
}

std::optional<std::string> Cache::get(const Digest& key) const {
  const fs::path path = path_of(key);
  const Result<std::string> file = read_file(path);
  if (!file || file->size() < Digest::size)
    return std::nullopt;
  const std::string_view frame = std::string_view(*file).substr(Digest::size);
  if (bytes_of(digest_of(frame)) != std::string_view(*file).substr(0, Digest::size))
    return std::nullopt;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return decompressed(frame);
}

Result<void> Cache::put(const Digest& key, std::string_view value) const {
  const std::string frame = compressed(value);
  if (frame.empty())
    return make_error(ErrorKind::failed, "compressing a cache entry");
  const fs::path path = path_of(key);
  if (mkdir(path.parent_path().c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, "creating " + path.parent_path().string());
  return write_file(path, std::string(bytes_of(digest_of(frame))) + frame, 0600, false);
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
