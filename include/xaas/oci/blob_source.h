// Where an image's blobs are read from: a layout directory, an archive, or what another module offers.
#pragma once

#include <xaas/oci/image.h>

#include <memory>

namespace xaas::oci {

class BlobSource {
public:
  virtual ~BlobSource() = default;

  // The bytes of a blob, checked against digest and size; more than `limit` of them is an integrity error, as
  // is a blob that is not there.
  Result<std::string> read(const Descriptor& descriptor, uint64_t limit = ~uint64_t(0)) const;

protected:
  // At most the `size` bytes expected and one more; not_found where there is no such blob. Any number of
  // threads may ask.
  virtual Result<std::string> fetch(const Descriptor& descriptor) const = 0;
  // Called with the bytes that were found to be right.
  virtual void checked(const Descriptor&, const std::string&) const {}
};

// The image of a manifest, or the one for `architecture` (OCI name) of an index: as open_image.
Result<std::unique_ptr<Image>> open_manifest(const Reference& reference, std::unique_ptr<BlobSource> source,
                                             const Descriptor& manifest, const std::string& architecture);

// What the bytes of a manifest or an index say of their type; empty: nothing.
std::string manifest_type(const std::string& text);
bool is_manifest_type(const std::string& type);
bool is_index_type(const std::string& type);

inline constexpr uint64_t manifest_limit = uint64_t(4) << 20;

} // namespace xaas::oci
