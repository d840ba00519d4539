// Image references: `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `rootfs:DIR` and `squashfs:FILE` (outputs, and
// inputs of `run`), `docker://[HOST[:PORT]/]NAME[:TAG][@DIGEST]`. Sources: containers-transports(5); the
// grammar and the normalization of the project "distribution" (package reference).
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
  std::string host, repository; // of a registry: HOST[:PORT], and the name, which may contain slashes
  std::string tag;              // empty: none given
  std::optional<Digest> digest; // of a registry; takes precedence over the tag
  std::string text;             // as the user wrote it
};

// Parses user input. A bare path is an archive if it ends in `.tar` and is not a directory, otherwise a
// layout. Usage errors: an unknown transport (the message lists the known ones), a malformed tag
// ([\w][\w.-]{0,127}), a malformed name or digest, an empty path. In a registry reference, the first
// component is a host only if it contains `.` or `:` or is `localhost`; otherwise the host is docker.io,
// where a single-component name means `library/NAME`.
Result<Reference> parse_reference(const std::string& text);

// Whether a text is a tag by the OCI distribution specification 1.1 ("Pulling manifests").
bool is_tag(const std::string& tag);

} // namespace xaas::oci
