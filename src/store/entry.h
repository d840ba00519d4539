// The format of an entry: a digest, then the value as one zstd frame, in a file named by the key. The digest
// covers key and frame, so an entry that was copied to another key's place counts as damaged.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>

#include <optional>
#include <string>
#include <string_view>

namespace xaas::store {

// `<2 hex digits>/<62 hex digits>`, relative to the cache's directory.
fs::path entry_path(const Digest& key);
// Empty if compression failed.
std::string to_entry(const Digest& key, std::string_view value);
// Nothing if the entry is damaged or belongs to another key.
std::optional<std::string> from_entry(const Digest& key, std::string_view entry);

} // namespace xaas::store
