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
#include <xaas/oci/image.h>
#include <xaas/store/cache.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace xaas::registry {

// How registries are reached.
struct Access {
  std::string authfile;   // empty: see credentials.h
  std::string cert_dir;   // empty: certs.d, as containers-certs.d(5) says
  bool tls_verify = true; // false: any certificate will do, and plain HTTP. The loopback may use HTTP
  bool offline = false;   // open no connection; what is kept can be read by its digest
  std::optional<store::Cache> blobs;
  uint64_t chunk_bytes = uint64_t(64) << 20; // larger blobs are sent in pieces of this size
  // Seams: the environment, and pauses. Empty: the process's own, and real ones.
  std::function<std::string(const char* name)> environment;
  std::function<Result<void>(std::chrono::milliseconds)> sleep;
};

// As oci::open_image, for every transport that can be read.
Result<std::unique_ptr<oci::Image>> open_image(const oci::Reference& reference,
                                               const std::string& architecture, const Access& access);

// As oci::write_image, for every transport that images are written to. To a registry the manifest goes last,
// so that a push that fails leaves the tag as it was; blobs that are there already are not sent, those of the
// same registry (NewLayer::origin) are mounted. A reference with a digest is a usage error.
Result<Digest> write_image(const oci::Reference& reference, const oci::NewImage& image, const Access& access,
                           Progress& progress = no_progress());

// As oci::check_writable. Of a registry: whether an upload may begin there.
Result<void> check_writable(const oci::Reference& reference, const Access& access);

} // namespace xaas::registry
