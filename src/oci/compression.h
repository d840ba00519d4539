// Compression streams, with settings fixed for reproducible digests.
#pragma once

#include <xaas/base/result.h>
#include <xaas/oci/blob.h>
#include <xaas/oci/layer.h>

#include <memory>
#include <string>
#include <string_view>

namespace xaas::oci {

class Compressor {
public:
  virtual ~Compressor() = default;
  virtual Result<void> write(std::string_view data) = 0;
  virtual std::string take() = 0;           // the compressed bytes available so far, each once
  virtual Result<std::string> finish() = 0; // the rest; once
};

Result<std::unique_ptr<Compressor>> make_compressor(Compression compression);

// A stream of uncompressed bytes. Damaged, truncated or trailing input is an integrity error.
class Decompressor {
public:
  virtual ~Decompressor() = default;
  // The next piece, valid until the next call; empty at the end.
  virtual Result<std::string_view> next() = 0;
};

// A decompressor for the layer media types of OCI and Docker. Any other media type is unsatisfied, because
// the image has a newer format.
Result<std::unique_ptr<Decompressor>> make_decompressor(BlobPtr blob, const std::string& media_type);

} // namespace xaas::oci
