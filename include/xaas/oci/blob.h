// The bytes of a blob, whether in memory, in a file or on a server. Blobs can be larger than memory, so they
// are read incrementally.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace xaas::oci {

struct Descriptor {
  std::string media_type;
  Digest digest;
  uint64_t size = 0; // bytes of the blob as stored
  std::map<std::string, std::string> annotations;
};

class Blob {
public:
  virtual ~Blob() = default;
  virtual uint64_t size() const = 0;
  // Fills the buffer with bytes from `offset` on and returns how many: possibly fewer than `capacity`, and
  // none only at the end. Any number of threads may read; sequential reads are fastest.
  virtual Result<size_t> read(uint64_t offset, char* buffer, size_t capacity) const = 0;
};
using BlobPtr = std::shared_ptr<const Blob>;

BlobPtr blob_of(std::string bytes);

// Opens a regular file, which stays open. Anything else is an integrity error.
Result<BlobPtr> blob_in_file(const fs::path& path);

using PieceSink = std::function<Result<void>(std::string_view)>;

// Passes all bytes in order to `sink`, if given, and checks size and digest against the descriptor. A
// mismatch is an integrity error, after which the caller must discard what the sink received. Stops early on
// interruption.
Result<void> read_checked(const Blob& blob, const Descriptor& descriptor, const PieceSink& sink = {});

// All bytes in memory, unchecked. An error if there are more than `limit`.
Result<std::string> read_whole(const Blob& blob, uint64_t limit = ~uint64_t(0));

// "blob sha256:...", as errors name it.
std::string name_of(const Descriptor& descriptor);

} // namespace xaas::oci
