// Image references: `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `rootfs:DIR` and `squashfs:FILE` (outputs
// only), `docker://[HOST[:PORT]/]NAME[:TAG][@DIGEST]`. Sources: containers-transports(5); the grammar and the
// normalisation of the project "distribution" (package reference).
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <optional>
#include <string>

namespace xaas::oci {

enum class Transport { layout, archive, rootfs, squashfs, registry };

struct Reference {
  Transport transport = Transport::layout;
  fs::path path;                // of a registry: empty
  std::string host, repository; // of a registry: HOST[:PORT], and the name, which may have slashes
  std::string tag;              // empty: none given
  std::optional<Digest> digest; // of a registry; it decides, also where there is a tag
  std::string text;             // as the user wrote it
};

// Parses what a user typed. A bare path is a layout if it is or will be a directory, an archive if it ends in
// `.tar`. An unknown transport is a usage error with the list of known ones; a malformed tag
// ([\w][\w.-]{0,127}), a malformed name or digest or an empty path is a usage error. In a registry's
// reference, the first part is a host only if it has `.` or `:` or is `localhost`; else the host is
// docker.io, where a name of one part is that of `library/`.
Result<Reference> parse_reference(const std::string& text);

} // namespace xaas::oci
