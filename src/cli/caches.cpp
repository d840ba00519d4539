#include "caches.h"
#include "settings.h"

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

std::optional<store::Cache> open_cache(const std::string& name, TerminalProgress& progress) {
  Result<store::Cache> cache = store::Cache::open(cache_directory() / name);
  if (cache)
    return *std::move(cache);
  std::string message = "nothing is kept for later: " + cache.error().message;
  if (!cache.error().hint.empty())
    message += " (" + cache.error().hint + ")";
  progress.note(message);
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
  static_cast<void>(store::prune(existing_caches(), max_bytes));
}

} // namespace xaas::cli
