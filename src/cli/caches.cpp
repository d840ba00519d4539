#include "caches.h"
#include "images.h"
#include "settings.h"

#include <xaas/base/directory.h>
#include <xaas/base/trust.h>
#include <xaas/run/tree_store.h>

#include <algorithm>

namespace xaas::cli {

fs::path cache_directory() {
  return settings().cache_directory();
}

const std::vector<std::string>& cache_names() {
  static const std::vector<std::string> names = {"blobs", "capture", "objects"};
  return names;
}

Result<uint64_t> parse_size(const std::string& what, const std::string& text) {
  return config::parse_size(what, text);
}

uint64_t max_cache_bytes() {
  return settings().cache_max_bytes();
}

const std::vector<std::string>& shared_cache_names() {
  static const std::vector<std::string> names = {"capture", "objects"};
  return names;
}

Result<store::SharedCache> open_shared_cache(const std::string& name) {
  const fs::path directory = settings().shared_cache();
  if (directory.empty())
    return make_error(ErrorKind::not_found, "no shared cache is set");
  const Result<fs::path> program = program_path();
  return store::SharedCache::open(directory / name, trusted_owners(program ? *program : fs::path()),
                                  settings().shared_cache_is_vouched_for());
}

namespace {

std::string description_of(const Error& error) {
  return error.message + (error.hint.empty() ? "" : " (" + error.hint + ")");
}

// A shared directory without a cache of this name is fine; a missing directory is not.
void add_shared(store::Cache& cache, const std::string& name, TerminalProgress& progress) {
  const std::vector<std::string>& names = shared_cache_names();
  const fs::path directory = settings().shared_cache();
  if (directory.empty() || std::find(names.begin(), names.end(), name) == names.end())
    return;
  std::error_code code;
  Result<store::SharedCache> shared = open_shared_cache(name);
  if (shared)
    cache.also_read(*std::move(shared));
  else if (shared.error().kind != ErrorKind::not_found || !fs::is_directory(directory, code))
    progress.note("the shared cache is not read: " + description_of(shared.error()));
}

} // namespace

std::optional<store::Cache> open_cache(const std::string& name, TerminalProgress& progress) {
  Result<store::Cache> cache = store::Cache::open(cache_directory() / name);
  if (cache) {
    add_shared(*cache, name, progress);
    return *std::move(cache);
  }
  progress.note("the cache is not used: " + description_of(cache.error()));
  return std::nullopt;
}

std::vector<store::Cache> existing_caches() {
  std::vector<store::Cache> caches;
  std::error_code code;
  for (const std::string& name : cache_names())
    if (const fs::path root = cache_directory() / name; fs::is_directory(root, code))
      if (Result<store::Cache> cache = store::Cache::open(root))
        caches.push_back(*std::move(cache));
  return caches;
}

void prune_caches(uint64_t max_bytes) {
  static_cast<void>(prune_all(max_bytes));
}

Result<std::vector<CompilerCache>> compiler_caches() {
  XAAS_TRY(const std::vector<fs::path> entries,
           list_directory(cache_directory() / compilers_name, IfMissing::empty));
  std::vector<CompilerCache> caches;
  for (const fs::path& entry : entries) {
    std::error_code trouble;
    CompilerCache cache{entry, 0, fs::last_write_time(entry, trouble)};
    if (trouble || !fs::is_directory(fs::symlink_status(entry, trouble)))
      continue;
    for (fs::recursive_directory_iterator it(entry, trouble), end; !trouble && it != end;
         it.increment(trouble))
      if (std::error_code none; it->is_regular_file(none) && !it->is_symlink(none))
        cache.bytes += it->file_size(none);
    caches.push_back(std::move(cache));
  }
  std::sort(caches.begin(), caches.end(),
            [](const CompilerCache& a, const CompilerCache& b) { return a.used < b.used; });
  return caches;
}

// Returns the bytes that remain. A running build whose cache is removed continues without it.
static Result<uint64_t> prune_compiler_caches(uint64_t max_bytes) {
  XAAS_TRY(const std::vector<CompilerCache> caches, compiler_caches());
  uint64_t bytes = 0;
  for (const CompilerCache& cache : caches)
    bytes += cache.bytes;
  for (const CompilerCache& cache : caches) {
    if (bytes <= max_bytes)
      break;
    remove_tree(cache.directory);
    bytes -= cache.bytes;
  }
  return bytes;
}

Result<void> prune_all(uint64_t all_bytes) {
  XAAS_TRY(const uint64_t compilers, prune_compiler_caches(all_bytes / 4));
  const uint64_t max_bytes = all_bytes - std::min(all_bytes, compilers);
  const std::vector<store::Cache> caches = existing_caches();
  std::error_code code;
  uint64_t trees = 0;
  if (const fs::path root = cache_directory() / trees_name; fs::is_directory(root, code)) {
    uint64_t others = 0;
    for (const store::Cache& cache : caches)
      others += cache.use().bytes;
    XAAS_TRY(const run::TreeStore store, run::TreeStore::open(root));
    XAAS_TRY(trees, store.prune(std::max(max_bytes / 2, max_bytes - std::min(max_bytes, others))));
  }
  if (Result<store::Cache::Use> left = store::prune(caches, max_bytes - std::min(max_bytes, trees)); !left)
    return left.error();
  return {};
}

} // namespace xaas::cli
