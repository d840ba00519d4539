// Common to layers and archives: libarchive reads them, and every name is checked before anything uses it.
// Checks that depend on the tree being unpacked (a path through a symlink) happen there.
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

// The error for damaged or deceptive content.
Error damaged(const std::string& what);

// The input of libarchive. Keeps our errors, which libarchive would reduce to text.
class ArchiveInput {
public:
  virtual ~ArchiveInput() = default;
  // The error behind the one that libarchive reports.
  Error error(archive* reader) const;

protected:
  // For libarchive's callbacks: stores the error and returns ARCHIVE_FATAL.
  int failed(archive* reader, Error error);

private:
  std::optional<Error> error_;
};

// Decompressed bytes, counted and hashed.
class Feed : public ArchiveInput {
public:
  Feed(Decompressor& source, bool hash, uint64_t limit) : source_(source), hash_(hash), limit_(limit) {}
  static la_ssize_t read(archive* reader, void* data, const void** buffer); // archive_read_callback
  // Reads to the end and returns the digest of everything.
  Result<Digest> finish();

private:
  Result<std::string_view> next();

  Decompressor& source_;
  bool hash_;
  uint64_t limit_;
  uint64_t total_ = 0;
  Hasher hasher_;
};

// In a layer, some names (whiteouts) remove files of lower layers.
enum class Whiteouts { checked, ordinary };

// Reads the entries of an open archive in order. `limit`: bytes of all contents that are read.
Result<void> read_entries(archive* reader, const ArchiveInput& input, Whiteouts whiteouts, uint64_t limit,
                          const OnEntry& entry);

// Checks a symlink at `path`: it may be absolute (relative to the root), but must not climb out of the root.
Result<void> check_symlink(const std::string& path, const std::string& destination);

} // namespace xaas::oci
