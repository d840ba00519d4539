// The cache directory, which builds and deploys share with later ones.
#pragma once

#include "terminal.h"

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/store/cache.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xaas::cli {

// The setting `cache_directory`.
fs::path cache_directory();

// The caches in it, each with its own directory: "capture" (results of compiles), "objects" (lowered
// objects), "blobs" (from registries).
const std::vector<std::string>& cache_names();

// "800M", "20G", "0": powers of 1024. Anything else: a usage error that begins with `what`.
Result<uint64_t> parse_size(const std::string& what, const std::string& text);

// The setting `cache_max_size`: the limit for all caches together.
uint64_t max_cache_bytes();

// Opens a cache of the user, and creates it if needed; it also reads the shared cache of that name. A cache
// that cannot be used is noted; nullopt if it is that of the user.
std::optional<store::Cache> open_cache(const std::string& name, TerminalProgress& progress);

// The caches that a shared cache (the setting `shared_cache`) can have.
const std::vector<std::string>& shared_cache_names();
// Opens one of them; not_found if it does not exist or no shared cache is set.
Result<store::SharedCache> open_shared_cache(const std::string& name);

// The caches that exist and can be used.
std::vector<store::Cache> existing_caches();

// The directory beside them for images that were unpacked to be run (run::TreeStore).
inline constexpr const char* trees_name = "trees";

// The directory for the compiler caches of toolchains, each in its own directory.
inline constexpr const char* compilers_name = "compilers";
struct CompilerCache {
  fs::path directory;
  uint64_t bytes = 0;
  fs::file_time_type used;
};
// Sorted, least recently used first.
Result<std::vector<CompilerCache>> compiler_caches();

// Prunes everything to the limit, at the end of a command that may have added entries. Compiler caches may
// take a quarter of it; trees half, and what the caches leave.
Result<void> prune_all(uint64_t max_bytes);
// The same; errors are ignored.
void prune_caches(uint64_t max_bytes);

} // namespace xaas::cli
