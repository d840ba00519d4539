// The form of an entry: its digest, then the value as one zstd frame, in a file that is named by the key.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>

#include <optional>
#include <string>
#include <string_view>

namespace xaas::store {

// `<2 hex digits>/<62 hex digits>`, below the cache's directory.
fs::path entry_path(const Digest& key);
// Empty where compressing failed.
std::string to_entry(std::string_view value);
// Nothing: damaged.
std::optional<std::string> from_entry(std::string_view entry);

} // namespace xaas::store
