// A directory of values by key, for results that can be recomputed.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/store/shared_cache.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::store {

// Safe for any number of concurrent processes without locks: an entry appears whole, by rename, and is
// checked when it is read. A damaged entry, or one that another process just pruned, counts as missing. A key
// covers everything that its value depends on, so two writers of one key may race.
class Cache {
public:
  struct Use {
    uint64_t entries = 0, bytes = 0; // on disk, compressed
  };

  // Creates the directory (mode 0700; entries are as readable for others as the directory). If someone other
  // than this user or root owns it or can write to it, that is a storage error: what they put there would
  // become part of this user's programs.
  static Result<Cache> open(fs::path root);
  // For a directory that open() has accepted in another process.
  static Cache at(fs::path root);
  // Adds a cache to search for entries that are missing here.
  void also_read(SharedCache shared) { shared_ = std::move(shared); }

  const fs::path& root() const { return root_; }
  const std::optional<SharedCache>& shared() const { return shared_; }
  // The value, if there is an undamaged entry. Marks an entry of this cache as used now.
  std::optional<std::string> get(const Digest& key) const;
  // Errors cost only time; callers may ignore them.
  Result<void> put(const Digest& key, std::string_view value) const;
  // For large values: an uncompressed file, whose content the caller checks. Marks it as used now.
  std::optional<fs::path> file(const Digest& key) const;
  // A writer for the file of this key, which appears when it is committed.
  Result<FileWriter> new_file(const Digest& key) const;
  void remove(const Digest& key) const;
  Use use() const;

private:
  explicit Cache(fs::path root) : root_(std::move(root)) {}
  fs::path path_of(const Digest& key) const;
  unsigned shared_bits() const;
  fs::path root_;
  std::optional<SharedCache> shared_;
};

// Removes the least recently used entries of all these caches until they have at most `max_bytes` together,
// and what killed writers left behind. Returns what is left.
Result<Cache::Use> prune(const std::vector<Cache>& caches, uint64_t max_bytes);

} // namespace xaas::store
