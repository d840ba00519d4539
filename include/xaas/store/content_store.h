// A directory of files named by their digests.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>
#include <string_view>

namespace xaas::store {

// Safe for any number of concurrent processes without locks: a file appears whole, by rename, under the
// digest of its content; two writers of one digest write the same bytes. Nothing unverified leaves the store.
class ContentStore {
public:
  explicit ContentStore(fs::path root) : root_(std::move(root)) {}
  const fs::path& root() const { return root_; }
  // Where content with this digest is stored, if it exists.
  fs::path path_of(const Digest& digest) const { return root_ / "sha256" / digest.hex(); }
  bool has(const Digest& digest) const;
  // Stores content, unless it exists already. Not synced to disk: a build can be repeated.
  Result<Digest> put(std::string_view content) const;
  // The content, checked against the digest. not_found if it is missing, integrity if it is damaged.
  Result<std::string> get(const Digest& digest) const;

private:
  fs::path root_;
};

} // namespace xaas::store
