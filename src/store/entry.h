// The form of an entry: a digest, then the value as one zstd frame, in a file that is named by the key. The
// digest is of the key and the frame: an entry that was moved or copied to another key's place is damaged.
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
std::string to_entry(const Digest& key, std::string_view value);
// Nothing: damaged, or another key's.
std::optional<std::string> from_entry(const Digest& key, std::string_view entry);

} // namespace xaas::store
