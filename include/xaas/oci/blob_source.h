// Where an image's blobs are read from: a layout directory, an archive, or what another module offers.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/blob.h>
#include <xaas/oci/image.h>

#include <memory>
#include <optional>

namespace xaas::oci {

class BlobSource {
public:
  virtual ~BlobSource() = default;

  // The bytes of a small blob, checked against digest and size; more than `limit` of them is an integrity
  // error, as is a blob that is not there.
  Result<std::string> read(const Descriptor& descriptor, uint64_t limit = ~uint64_t(0)) const;
  // A blob that was checked as a whole.
  Result<BlobPtr> open(const Descriptor& descriptor) const;
  // The same unchecked, to be read once and with read_checked.
  Result<BlobPtr> stream(const Descriptor& descriptor) const;
  // See Image.
  virtual Result<void> prefetch(const std::vector<Descriptor>& blobs, Progress& progress) const;

protected:
  // An unchecked blob; not_found where there is none. Any number of threads may ask.
  virtual Result<BlobPtr> find(const Descriptor& descriptor) const = 0;
  // Where checking while it arrives is cheaper than reading twice, or where manifests are asked for in
  // another way than blobs.
  virtual Result<BlobPtr> find_checked(const Descriptor& descriptor) const;
  virtual Result<std::string> fetch(const Descriptor& descriptor) const;
  // Called with the bytes that `read` found to be right.
  virtual void checked(const Descriptor&, const std::string&) const {}
};

// The image of a manifest, or the one for `architecture` (OCI name) of an index: as open_image.
Result<std::unique_ptr<Image>> open_manifest(const Reference& reference, std::unique_ptr<BlobSource> source,
                                             const Descriptor& manifest, const std::string& architecture);

// What the bytes of a manifest or an index say of their type; empty: nothing.
std::string manifest_type(const std::string& text);
bool is_manifest_type(const std::string& type);
bool is_index_type(const std::string& type);

// A layout or an archive, and the manifest or index in it that a reference names: as open_image. Where
// several manifests have the same tag, the one for `architecture`; without it the first is meant.
struct OpenedSource {
  std::unique_ptr<BlobSource> source;
  Descriptor root;
};
Result<OpenedSource> open_stored(const Reference& reference, const std::optional<std::string>& architecture);

inline constexpr uint64_t manifest_limit = uint64_t(4) << 20;

} // namespace xaas::oci
