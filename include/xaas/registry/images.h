// Images in layouts, archives (oci/image.h) and registries. Source: OCI distribution specification 1.1.
//
// A registry transfers only what is read: a manifest when the image is opened, its configuration, then the
// requested blobs. They are kept in `Access::blobs` if given, else in a temporary directory while the image
// is open. A broken transfer is resumed (Range). Broken connections and the statuses 408, 429 and 500 to 599
// are retried after growing pauses, or after those that the registry requests. Redirects of blobs to other
// hosts are followed without credentials, and from https only to https.
//
// Errors: denied for 401 and 403; not_found for 404; network; integrity for a wrong digest or size, malformed
// responses and bad redirects. No message contains a password, token or query.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/blob_source.h>
#include <xaas/oci/image.h>
#include <xaas/oci/publication.h>
#include <xaas/oci/referrers.h>
#include <xaas/store/cache.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::registry {

class Routes;

// How to access registries.
struct Access {
  std::string authfile;   // empty: see credentials.h
  std::string cert_dir;   // empty: certs.d, as in containers-certs.d(5)
  bool tls_verify = true; // false: accept any certificate, and plain HTTP. The loopback may always use HTTP
  bool offline = false;   // open no connection; kept blobs can be read by digest
  std::optional<store::Cache> blobs;
  unsigned tries = 5;             // of operations that may succeed later
  unsigned transfers = 4;         // concurrent blobs
  std::chrono::seconds stall{60}; // a transfer below 1 KiB/s for so long counts as broken; five times that
                                  // while a registry takes a blob
  uint64_t chunk_bytes = uint64_t(64) << 20; // larger blobs are sent in chunks of this size
  // Adjusts the settings for one registry (HOST[:PORT]): called with a copy before a connection is opened.
  std::function<void(const std::string& host, Access& access)> adjust;
  // Where images are really read; empty: under their names. Called for images in registries only.
  std::function<Result<std::shared_ptr<const Routes>>()> routes;
  bool routes_may_be_insecure = true;                // routes may switch `tls_verify` off
  std::function<void(const std::string& text)> note; // for users: a place that is passed over
  // Seams for the environment and for pauses. Empty: the real ones.
  std::function<std::string(const char* name)> environment;
  std::function<Result<void>(std::chrono::milliseconds)> sleep;
};

// As oci::open_image(), for every readable transport.
Result<std::unique_ptr<oci::Image>> open_image(const oci::Reference& reference,
                                               const std::string& architecture, const Access& access,
                                               const oci::Chooser& chooser = {});

// An image under its real name, and how to access that.
struct Place {
  oci::Reference reference;
  Access access;
};

// What a reference names, of any type, and the source of its blobs: as oci::open_stored(), for every readable
// transport.
struct OpenedSource {
  std::unique_ptr<oci::BlobSource> source;
  oci::Descriptor root;
  Place place; // where it was found; what belongs to the image is beside it
};
Result<OpenedSource> open_source(const oci::Reference& reference,
                                 const std::optional<std::string>& architecture, const Access& access);

// As oci::write_publication(), for every writable transport except trees; starts its own progress phase. A
// registry receives the documents last, and the tagged one at the very end, so that a failed push leaves the
// tag unchanged. Existing blobs are not sent, and those of the same registry (NewBlob::origin) are mounted. A
// reference with a digest is a usage error.
Result<Digest> write_publication(const oci::Reference& reference, const oci::Publication& publication,
                                 const Access& access, Progress& progress = no_progress());

// Writes an image to any writable transport. For a file tree the digest is that of the image it was made
// from.
Result<Digest> write_image(const oci::Reference& reference, const oci::NewImage& image, const Access& access,
                           Progress& progress = no_progress());

// Writes the tree of an opened image (`rootfs:`, `squashfs:`).
Result<void> write_tree(const oci::Image& image, const oci::Reference& to,
                        Progress& progress = no_progress());

// Writes an index of images for several architectures, except as a file tree.
Result<Digest> write_index(const oci::Reference& reference, const std::vector<oci::NewImage>& images,
                           const Access& access, Progress& progress = no_progress());

// As oci::check_writable(). For a registry, checks that it accepts an upload.
Result<void> check_writable(const oci::Reference& reference, const Access& access);

struct Copied {
  Digest digest;                 // of the written document
  Digest source;                 // of the document that was read
  bool converted = false;        // from Docker's formats to those of OCI, for a layout or an archive
  uint64_t blobs = 0, bytes = 0; // that the image consists of
  std::vector<oci::Referrer> referrers;
};

struct CopyOptions {
  std::optional<std::string> architecture; // OCI name: of an index only its first image
  std::string own_architecture;            // for a file tree, if `architecture` is absent
  oci::Chooser chooser = {};               // for a file tree, of several images
  bool referrers = true;                   // also the referrers of the copied documents (oci/referrers.h)
};

// Copies an image of any type, including everything that an index lists. Digests stay the same unless
// `converted`. Referrers of an image that is converted are not copied, nor does a file tree get any. Of
// cosign's signatures, the destination keeps those that it has beside ours.
Result<Copied> copy(const oci::Reference& from, const oci::Reference& to, const CopyOptions& options,
                    const Access& access, Progress& progress = no_progress());

} // namespace xaas::registry
