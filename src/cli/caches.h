// The cache directory: what builds and deploys keep for later ones.
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

// What kinds of things are kept there, each in a directory of its own: "capture" (outcomes of compiles),
// "objects" (lowered objects), "blobs" (what was read from registries).
const std::vector<std::string>& cache_names();

// "800M", "20G", "0": powers of 1024. What is no size: usage error that begins with `what`.
Result<uint64_t> parse_size(const std::string& what, const std::string& text);

// The setting `cache_max_size`: what all caches together may take.
uint64_t max_cache_bytes();

// Opens one of them, and makes it where there is none; it also reads the shared one, if there is one. Where
// one cannot be used, that is said; without the own one nothing is opened.
std::optional<store::Cache> open_cache(const std::string& name, TerminalProgress& progress);

// Those of them that are also looked for below the setting `shared_cache`.
const std::vector<std::string>& shared_cache_names();
// One of those; not_found where there is none of that name, or none is set.
Result<store::SharedCache> open_shared_cache(const std::string& name);

// Those that exist and can be used.
std::vector<store::Cache> existing_caches();

// Beside them: images that were unpacked to be run (run::TreeStore).
inline constexpr const char* trees_name = "trees";

// And compiler caches of toolchains, each in a directory of its own.
inline constexpr const char* compilers_name = "compilers";
struct CompilerCache {
  fs::path directory;
  uint64_t bytes = 0;
  fs::file_time_type used;
};
Result<std::vector<CompilerCache>>
compiler_caches(); // sorted, the one that was not used for the longest time first

// Brings them and the trees down to the limit, at the end of a command that may have kept something. Trees
// may take half of it, and what the caches leave; compiler caches a quarter.
Result<void> prune_all(uint64_t max_bytes);
// The same where an error is no trouble.
void prune_caches(uint64_t max_bytes);

} // namespace xaas::cli
