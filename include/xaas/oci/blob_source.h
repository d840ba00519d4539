// Where an image's blobs come from: a layout directory, an archive, or an implementation in another module.
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

  // The bytes of a small blob, checked against digest and size. A missing blob, or one with more than `limit`
  // bytes, is an integrity error.
  Result<std::string> read(const Descriptor& descriptor, uint64_t limit = ~uint64_t(0)) const;
  // A blob that has been checked completely.
  Result<BlobPtr> open(const Descriptor& descriptor) const;
  // The same unchecked, to be read once, with read_checked().
  Result<BlobPtr> stream(const Descriptor& descriptor) const;
  // See Image::prefetch().
  virtual Result<void> prefetch(const std::vector<Descriptor>& blobs, Progress& progress) const;

protected:
  // An unchecked blob, or not_found. Any number of threads may call this.
  virtual Result<BlobPtr> find(const Descriptor& descriptor) const = 0;
  // Overridden if checking during transfer is cheaper than reading twice, or if manifests are requested in
  // another way than blobs.
  virtual Result<BlobPtr> find_checked(const Descriptor& descriptor) const;
  virtual Result<std::string> fetch(const Descriptor& descriptor) const;
  // Called with bytes that read() has checked.
  virtual void checked(const Descriptor&, const std::string&) const {}
};

// The image of a manifest, or the one for `architecture` (OCI name) in an index. Errors as open_image().
Result<std::unique_ptr<Image>> open_manifest(const Reference& reference, std::unique_ptr<BlobSource> source,
                                             const Descriptor& manifest, const std::string& architecture,
                                             const Chooser& chooser = {});

// What an index, or those that it lists, has for an architecture, in its order and each once; of a manifest,
// itself. integrity for more than a few hundred, because each may be opened.
struct ListedDescriptor {
  Descriptor descriptor; // of a manifest
  std::map<std::string, std::string> annotations;
};
Result<std::vector<ListedDescriptor>> list_images(const BlobSource& source, const Descriptor& root,
                                                  const std::string& architecture);

// The image of a manifest that list_images() found in `index`.
Result<std::unique_ptr<Image>> open_listed(const Reference& reference, std::unique_ptr<BlobSource> source,
                                           const Descriptor& manifest, const Descriptor& index);

// The layers of any manifest, also of an artifact.
Result<std::vector<Descriptor>> layers_of(const std::string& manifest, const std::string& where);

// The media type that a manifest or an index states, or an empty string.
std::string manifest_type(const std::string& text);
bool is_manifest_type(const std::string& type);
bool is_index_type(const std::string& type);

// A layout or an archive, and the manifest or index in it that a reference names. If several manifests have
// the same tag, the one for `architecture`, or the first without it. Errors as open_image().
struct OpenedSource {
  std::unique_ptr<BlobSource> source;
  Descriptor root;
};
Result<OpenedSource> open_stored(const Reference& reference, const std::optional<std::string>& architecture);

inline constexpr uint64_t manifest_limit = uint64_t(4) << 20;

} // namespace xaas::oci
