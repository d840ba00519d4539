// What layers and archives have in common: libarchive reads them, and every name is checked before anything
// acts on it. What depends on the tree that is being unpacked (a path through a symlink) is checked there.
#pragma once

#include "compression.h"

#include <xaas/base/digest.h>
#include <xaas/oci/layer.h>

#include <archive.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace xaas::oci {

using ArchiveReader = std::unique_ptr<archive, decltype(&archive_read_free)>;
using OnEntry = std::function<Result<void>(LayerEntry&, LayerContent&)>;

// Damage, and a lie.
Error damaged(const std::string& what);

// What libarchive reads from. An error of ours, which it would pass on as text, comes back as it was.
class ArchiveInput {
public:
  virtual ~ArchiveInput() = default;
  // The error behind the one that libarchive reports.
  Error error(archive* reader) const;

protected:
  // For libarchive's callbacks: gives ARCHIVE_FATAL.
  int failed(archive* reader, Error error);

private:
  std::optional<Error> error_;
};

// Decompressed bytes, counted and hashed.
class Feed : public ArchiveInput {
public:
  Feed(Decompressor& source, bool hash, uint64_t limit) : source_(source), hash_(hash), limit_(limit) {}
  static la_ssize_t read(archive* reader, void* data, const void** buffer); // archive_read_callback
  // Reads on to the end and gives the digest of everything.
  Result<Digest> finish();

private:
  Result<std::string_view> next();

  Decompressor& source_;
  bool hash_;
  uint64_t limit_;
  uint64_t total_ = 0;
  Hasher hasher_;
};

// In a layer some names remove what other layers have.
enum class Whiteouts { checked, ordinary };

// Reads the entries of an open archive in their order. `limit`: of all contents that are read, in bytes.
Result<void> read_entries(archive* reader, const ArchiveInput& input, Whiteouts whiteouts, uint64_t limit,
                          const OnEntry& entry);

// A symlink at `path` may be absolute (it is then relative to the root), but not climb out of the root.
Result<void> check_symlink(const std::string& path, const std::string& destination);

} // namespace xaas::oci
