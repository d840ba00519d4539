// A directory of values under keys, for work that can be done again.
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
// checked when it is read; what is damaged, or was just pruned by another process, is as good as missing. A
// key names everything that its value depends on, so two writers of one key may race.
class Cache {
public:
  struct Use {
    uint64_t entries = 0, bytes = 0; // on disk, compressed
  };

  // Makes the directory (mode 0700; entries are as readable for others as it is). A directory that others
  // than this user or root own or may write is `storage`: what they put there would become this user's
  // programs.
  static Result<Cache> open(fs::path root);
  // A directory that `open` accepted before, in another process.
  static Cache at(fs::path root);
  // From now on what is not here is looked for there, too.
  void also_read(SharedCache shared) { shared_ = std::move(shared); }

  const fs::path& root() const { return root_; }
  const std::optional<SharedCache>& shared() const { return shared_; }
  // The value, if it is there whole. Marks it as used now, if it is here.
  std::optional<std::string> get(const Digest& key) const;
  // Errors cost time only: callers may go on without.
  Result<void> put(const Digest& key, std::string_view value) const;
  // For what is large: a file that is kept as it is, whose content the caller checks. Marks it as used now.
  std::optional<fs::path> file(const Digest& key) const;
  // What is written there is the file of the key once it is committed.
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

// Removes, of all these caches, the entries that were not used for the longest time until at most `max_bytes`
// are left of all together, and what killed writers left behind. Gives what is left.
Result<Cache::Use> prune(const std::vector<Cache>& caches, uint64_t max_bytes);

} // namespace xaas::store
