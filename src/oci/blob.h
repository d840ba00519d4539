// Blobs in parts of files, and sequential reading of blobs.
#pragma once

#include <xaas/base/file_descriptor.h>
#include <xaas/oci/blob.h>

#include <memory>
#include <string_view>
#include <vector>

namespace xaas::oci {

inline constexpr size_t piece_size = 256 * 1024;

// `size` bytes of a file, from `begin` on. `path` is for messages.
BlobPtr blob_in(const fs::path& path, std::shared_ptr<const FileDescriptor> file, uint64_t begin,
                uint64_t size);

// Reads a blob sequentially from its start.
class BlobReader {
public:
  explicit BlobReader(BlobPtr blob) : blob_(std::move(blob)) {}
  // Valid until the next call; empty at the end.
  Result<std::string_view> next();

private:
  BlobPtr blob_;
  uint64_t offset_ = 0;
  std::vector<char> buffer_ = std::vector<char>(piece_size);
};

} // namespace xaas::oci
