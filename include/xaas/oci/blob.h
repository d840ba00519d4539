// The bytes of a blob, wherever they lie: in memory, in a file, behind a connection. Blobs can be larger than
// memory, so they are read in pieces.
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
  // Fills the buffer with bytes from `offset` on and says how many: perhaps fewer than `capacity`, none only
  // at the end. Any number of threads may read; reading in order is fastest.
  virtual Result<size_t> read(uint64_t offset, char* buffer, size_t capacity) const = 0;
};
using BlobPtr = std::shared_ptr<const Blob>;

BlobPtr blob_of(std::string bytes);

// A regular file, which stays open; anything else is an integrity error.
Result<BlobPtr> blob_in_file(const fs::path& path);

using PieceSink = std::function<Result<void>(std::string_view)>;

// Gives all bytes in their order to `sink`, if there is one, and checks them: size and digest are those of
// the descriptor, else it is an integrity error, after which what the sink took must not be used. Ends early
// where the process is interrupted.
Result<void> read_checked(const Blob& blob, const Descriptor& descriptor, const PieceSink& sink = {});

// All of them in memory, unchecked. An error if the blob has more than `limit`.
Result<std::string> read_whole(const Blob& blob, uint64_t limit = ~uint64_t(0));

// "blob sha256:...", as errors name it.
std::string name_of(const Descriptor& descriptor);

} // namespace xaas::oci
