// OCI images in layouts and archives. Sources: OCI image specification 1.1 (image-layout, manifest, config,
// descriptor, annotations).
//
// Nothing unverified leaves this module: a read takes a descriptor, and what it returns has been checked
// against its digest and size. A mismatch, a missing blob, malformed JSON or a member out of bounds is an
// integrity error that names image and blob.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/oci/blob.h>
#include <xaas/oci/reference.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::oci {

namespace media_type {
inline constexpr const char* manifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr const char* index = "application/vnd.oci.image.index.v1+json";
inline constexpr const char* config = "application/vnd.oci.image.config.v1+json";
inline constexpr const char* layer_gzip = "application/vnd.oci.image.layer.v1.tar+gzip";
inline constexpr const char* layer_zstd = "application/vnd.oci.image.layer.v1.tar+zstd";
inline constexpr const char* layer_tar = "application/vnd.oci.image.layer.v1.tar";
inline constexpr const char* docker_manifest = "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr const char* docker_index = "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr const char* docker_config = "application/vnd.docker.container.image.v1+json";
inline constexpr const char* docker_layer_gzip = "application/vnd.docker.image.rootfs.diff.tar.gzip";
} // namespace media_type

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;
  std::map<std::string, std::string> annotations; // Docker's format has none: there the config's labels
};

struct ImageConfig {
  std::string architecture = "amd64", os = "linux";
  std::string created;                           // RFC 3339
  std::vector<std::string> entrypoint, cmd, env; // env: "K=V"
  std::string working_directory;
  std::map<std::string, std::string> labels;
  std::vector<Digest> diff_ids;     // of the uncompressed layers; of an opened image one for each
  std::vector<std::string> history; // `created_by`, one per layer
};

// An image opened for reading. Blobs are read on demand.
class Image {
public:
  virtual ~Image() = default;
  const Reference& reference() const { return reference_; }
  const Digest& digest() const { return digest_; }          // of the manifest
  uint64_t manifest_size() const { return manifest_size_; } // in bytes
  const Manifest& manifest() const { return manifest_; }
  const ImageConfig& config() const { return config_; }
  // Of the index that the reference named, where the manifest was chosen from one.
  const std::optional<Digest>& index_digest() const { return index_digest_; }
  // The stored bytes of a small blob, checked. Any number of threads may read.
  virtual Result<std::string> blob(const Descriptor& descriptor) const = 0;
  // A blob of any size, which was checked as a whole.
  virtual Result<BlobPtr> open_blob(const Descriptor& descriptor) const = 0;
  // The same unchecked, to be read once, with read_checked: what comes over a network need not be kept.
  virtual Result<BlobPtr> stream_blob(const Descriptor& descriptor) const = 0;
  // Gets blobs that will be opened soon, several at once, where that saves time. Errors come again when they
  // are opened.
  virtual void prefetch(const std::vector<Descriptor>& blobs, Progress& progress) const = 0;

protected:
  Reference reference_;
  Digest digest_;
  uint64_t manifest_size_ = 0;
  std::optional<Digest> index_digest_;
  Manifest manifest_;
  ImageConfig config_;
};

// Opens an image in a layout or an archive. Without a tag: the only image, else `latest`, else not_found with
// the tags that are there. A path that does not exist is not_found; one that is no layout or archive is a
// usage error. A nested index picks the entry for `architecture` (OCI name), first listed first; none is
// unsatisfied.
Result<std::unique_ptr<Image>> open_image(const Reference& reference,
                                          const std::string& architecture = "amd64");

// An image to be written: layers with their bytes at hand. Text that is not UTF-8 is stored with U+FFFD.
struct NewLayer {
  Descriptor descriptor;
  Digest diff_id;
  std::string created_by;
  std::function<Result<BlobPtr>()> open; // unchecked; called when the blob is written, at most once
  std::optional<Reference> origin;       // an image that has the blob
};
struct NewImage {
  ImageConfig config; // diff_ids and history are filled in from the layers
  std::map<std::string, std::string> annotations;
  std::vector<NewLayer> layers;
};

// The digest of an image's manifest as it would be stored, without writing anything.
Digest manifest_digest(const NewImage& image);

// Writes an image to a layout or an archive. An existing layout keeps its other tags and blobs; the tag is
// replaced atomically, last, so that a killed writer leaves the old image intact. Without a tag: `latest`.
// Blobs that are there already (size and digest match) are not written again. An archive is written to a
// temporary file and renamed; its members are `oci-layout`, `index.json`, `blobs/sha256/...`, sorted, dated
// 0. Returns the manifest's digest. Concurrent writers of one layout: each tag ends up whole, none is lost
// (index.json is re-read and replaced under a lock that a dead owner does not hold forever). A directory that
// is neither a layout nor empty is a usage error; an archive that exists is replaced. A layer whose bytes do
// not match its descriptor is an integrity error.
Result<Digest> write_image(const Reference& reference, const NewImage& image);

// Checks, before long work, that `reference` can be written: its directory exists or can be made and is
// writable.
Result<void> check_writable(const Reference& reference);

} // namespace xaas::oci
