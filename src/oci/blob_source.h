// Where an image's blobs are read from: a layout directory or an archive.
#pragma once

#include <xaas/oci/image.h>

#include <memory>

namespace xaas::oci {

class BlobSource {
public:
  virtual ~BlobSource() = default;

  // `index.json` as it is.
  virtual Result<std::string> index() const = 0;
  // The bytes of a blob, checked against digest and size; more than `limit` of them is an integrity error, as
  // is a blob that is not there.
  Result<std::string> read(const Descriptor& descriptor, uint64_t limit = ~uint64_t(0)) const;

protected:
  // At most the `size` bytes expected and one more; not_found where there is no such blob.
  virtual Result<std::string> fetch(const Digest& digest, uint64_t size) const = 0;
};

// Opens a layout or an archive and checks its `oci-layout`.
Result<std::unique_ptr<BlobSource>> open_source(const Reference& reference);

} // namespace xaas::oci
