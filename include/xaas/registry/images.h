// Images wherever they are: in layouts and archives (oci/image.h), and in registries. Source: OCI
// distribution specification 1.1.
//
// From a registry only what is read moves: a manifest when the image is opened, its configuration, then the
// blobs that are asked for. What was read is kept in `Access::blobs`, if there is one, else in a temporary
// directory for as long as the image is open. A broken transfer goes on where it ended (Range). Broken
// connections and the statuses 408, 429 and 500 to 599 are tried again after growing pauses, or after those
// that the registry asks for. Redirects of blobs to other hosts are followed without the credentials, and
// from https to https only.
//
// Errors: denied, 401 and 403; not_found, 404; network; integrity, what does not match its digest or size,
// answers that are none, redirects that lead nowhere. No message has a password, token or query in it.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/blob_source.h>
#include <xaas/oci/image.h>
#include <xaas/oci/publication.h>
#include <xaas/store/cache.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xaas::registry {

// How registries are reached.
struct Access {
  std::string authfile;   // empty: see credentials.h
  std::string cert_dir;   // empty: certs.d, as containers-certs.d(5) says
  bool tls_verify = true; // false: any certificate will do, and plain HTTP. The loopback may use HTTP
  bool offline = false;   // open no connection; what is kept can be read by its digest
  std::optional<store::Cache> blobs;
  unsigned tries = 5;             // of what may go better the next time
  unsigned transfers = 4;         // blobs at a time
  std::chrono::seconds stall{60}; // a transfer below 1 KiB/s for so long counts as broken; five times that
                                  // while a registry takes a blob
  uint64_t chunk_bytes = uint64_t(64) << 20; // larger blobs are sent in pieces of this size
  // What differs for one registry (HOST[:PORT]): called with a copy, before a connection is opened.
  std::function<void(const std::string& host, Access& access)> adjust;
  // Seams: the environment, and pauses. Empty: the process's own, and real ones.
  std::function<std::string(const char* name)> environment;
  std::function<Result<void>(std::chrono::milliseconds)> sleep;
};

// As oci::open_image, for every transport that can be read.
Result<std::unique_ptr<oci::Image>> open_image(const oci::Reference& reference,
                                               const std::string& architecture, const Access& access);

// What a reference names, whatever it is, and where its blobs come from: as oci::open_stored, for every
// transport that can be read.
Result<oci::OpenedSource> open_source(const oci::Reference& reference,
                                      const std::optional<std::string>& architecture, const Access& access);

// As oci::write_publication, for every transport that images are written to; progress is a phase of its own.
// To a registry the documents go last, and the one that the tag stands for at the very end, so that a push
// that fails leaves the tag as it was; blobs that are there already are not sent, those of the same registry
// (NewBlob::origin) are mounted. A reference with a digest is a usage error.
Result<Digest> write_publication(const oci::Reference& reference, const oci::Publication& publication,
                                 const Access& access, Progress& progress = no_progress());

// An image to wherever it can be written, also as a file tree, whose digest is that of the image that it
// would have been.
Result<Digest> write_image(const oci::Reference& reference, const oci::NewImage& image, const Access& access,
                           Progress& progress = no_progress());

// An index over images for several architectures. Not as a file tree.
Result<Digest> write_index(const oci::Reference& reference, const std::vector<oci::NewImage>& images,
                           const Access& access, Progress& progress = no_progress());

// As oci::check_writable. Of a registry: whether an upload may begin there.
Result<void> check_writable(const oci::Reference& reference, const Access& access);

struct Copied {
  Digest digest;                 // of what was written
  Digest source;                 // of what was read
  bool converted = false;        // from Docker's formats to those of OCI, for a layout or an archive
  uint64_t blobs = 0, bytes = 0; // that it consists of
};

// Copies an image, whatever it is, with all that an index lists; with `architecture` (OCI name) only its
// image. Digests stay, unless `converted` says otherwise. To a file tree: the image for `architecture`, or
// else for `own_architecture`.
Result<Copied> copy(const oci::Reference& from, const oci::Reference& to,
                    const std::optional<std::string>& architecture, const std::string& own_architecture,
                    const Access& access, Progress& progress = no_progress());

} // namespace xaas::registry
