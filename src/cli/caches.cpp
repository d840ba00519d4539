#include "caches.h"
#include "images.h"

#include <xaas/base/process.h>

#include <charconv>

namespace xaas::cli {

fs::path cache_directory() {
  if (const std::string own = environment("XAAS_CACHE_DIR"); !own.empty())
    return own;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "xaas";
  if (const std::string home = environment("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "xaas";
  return temporary_root() / "xaas-cache";
}

const std::vector<std::string>& cache_names() {
  static const std::vector<std::string> names = {"blobs", "capture", "objects"};
  return names;
}

Result<uint64_t> parse_size(const std::string& what, const std::string& text) {
  uint64_t number = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const size_t power = unit.empty() ? 0 : std::string_view(" KMGT").find(unit);
  if (trouble != std::errc() || unit.size() > 1 || unit == " " || power == std::string_view::npos ||
      number > UINT64_MAX >> (10 * power))
    return make_error(ErrorKind::usage, what + text + ": not a size",
                      "a number of bytes, or one with K, M, G or T, as in 20G");
  return number << (10 * power);
}

Result<uint64_t> max_cache_bytes() {
  const std::string text = environment("XAAS_CACHE_MAX_SIZE");
  if (text.empty())
    return uint64_t(5) << 30;
  return parse_size("XAAS_CACHE_MAX_SIZE=", text);
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
