// OCI images in layouts and archives. Sources: OCI image specification 1.1 (image-layout, manifest, config,
// descriptor, annotations).
//
// No unverified data leaves this module: a read takes a descriptor and returns data that has been checked
// against its digest and size. A mismatch, a missing blob, malformed JSON or an out-of-range member is an
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
  std::map<std::string, std::string> annotations; // in Docker's format, the config's labels
};

struct ImageConfig {
  std::string architecture = "amd64", os = "linux";
  std::string created;                           // RFC 3339
  std::vector<std::string> entrypoint, cmd, env; // env: "K=V"
  std::string working_directory;
  std::map<std::string, std::string> labels;
  Json others = Json::object();     // further members of `config`, such as User and ExposedPorts
  std::vector<Digest> diff_ids;     // of the uncompressed layers; an opened image has one for each
  std::vector<std::string> history; // `created_by`, one per layer
};

// The member `config` of an image's configuration: what a container starts, and how.
Json process_json(const ImageConfig& config);
// Sets these fields of `config`, and no other. Docker writes null where OCI omits a key; both are accepted.
Result<void> parse_process(const JsonReader& reader, ImageConfig& config);

// An image opened for reading. Blobs are read on demand.
class Image {
public:
  virtual ~Image() = default;
  const Reference& reference() const { return reference_; }
  const Digest& digest() const { return digest_; }          // of the manifest
  uint64_t manifest_size() const { return manifest_size_; } // in bytes
  const Manifest& manifest() const { return manifest_; }
  const ImageConfig& config() const { return config_; }
  // The digest of the index that the reference names, if the manifest was chosen from one.
  const std::optional<Digest>& index_digest() const { return index_digest_; }
  // The stored bytes of a small blob, checked. Any number of threads may call this.
  virtual Result<std::string> blob(const Descriptor& descriptor) const = 0;
  // A blob of any size, checked completely.
  virtual Result<BlobPtr> open_blob(const Descriptor& descriptor) const = 0;
  // The same unchecked, to be read once, with read_checked(), so that remote blobs need not be stored.
  virtual Result<BlobPtr> stream_blob(const Descriptor& descriptor) const = 0;
  // Fetches blobs that will be opened soon, several at once, if that saves time. Errors recur when they are
  // opened.
  virtual void prefetch(const std::vector<Descriptor>& blobs, Progress& progress) const = 0;

protected:
  Reference reference_;
  Digest digest_;
  uint64_t manifest_size_ = 0;
  std::optional<Digest> index_digest_;
  Manifest manifest_;
  ImageConfig config_;
};

// Which of the images that an index lists for one architecture to take: its place among the annotations of
// their entries, of which there is at least one.
using Chooser =
    std::function<Result<size_t>(const std::vector<std::map<std::string, std::string>>& annotations)>;

// Opens an image in a layout or an archive. Without a tag: the only image, else `latest`, else not_found with
// a list of tags. A missing path is not_found; one that is neither a layout nor an archive is a usage error.
// In a nested index it chooses the first entry for `architecture` (OCI name), or that of the chooser, which
// may fail; if there is none, unsatisfied.
Result<std::unique_ptr<Image>> open_image(const Reference& reference,
                                          const std::string& architecture = "amd64",
                                          const Chooser& chooser = {});

// An image to write. Text that is not UTF-8 is stored with U+FFFD.
struct NewLayer {
  Descriptor descriptor;
  Digest diff_id;
  std::string created_by;
  std::function<Result<BlobPtr>()> open; // unchecked; called when the blob is written, at most once
  std::optional<Reference> origin;       // an image that contains the blob
};
// A layer of an image byte for byte, for another image. The image must exist as long as the layer.
NewLayer layer_of(const Image& image, size_t index);

struct NewImage {
  ImageConfig config; // diff_ids and history are filled in from the layers
  std::map<std::string, std::string> annotations;
  std::vector<NewLayer> layers;
};

// The digest that an image's manifest would have, without writing anything.
Digest manifest_digest(const NewImage& image);

// Writes an image to a layout or an archive and returns the manifest's digest. An existing layout keeps its
// other tags and blobs; the tag (without one, `latest`) is replaced atomically at the end, so that a killed
// writer leaves the old image intact. Existing blobs (size and digest match) are not written again. Writers
// may run concurrently in one layout: no tag is lost or partial, because index.json is re-read and replaced
// under a lock, which a dead owner loses. An archive is written to a temporary file and renamed; its members
// are `oci-layout`, `index.json`, `blobs/sha256/...`, sorted, with time 0. A directory that is neither a
// layout nor empty is a usage error; an existing archive is replaced. A layer that does not match its
// descriptor is an integrity error.
Result<Digest> write_image(const Reference& reference, const NewImage& image);

// Checks, before long operations, that `reference` can be written: its directory exists or can be created,
// and is writable.
Result<void> check_writable(const Reference& reference);

} // namespace xaas::oci
