// Image references: `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `rootfs:DIR` (output only), `docker://...`
// (named, for the message: this version has no registry client). Source: containers-transports(5).
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>

namespace xaas::oci {

enum class Transport { layout, archive, rootfs };

struct Reference {
  Transport transport = Transport::layout;
  fs::path path;
  std::string tag;  // empty: none given
  std::string text; // as the user wrote it
};

// Parses what a user typed. A bare path is a layout if it is or will be a directory, an archive if it ends in
// `.tar`. An unknown transport is a usage error with the list of known ones; a malformed tag
// ([\w][\w.-]{0,127}) or an empty path is a usage error; `docker://` is a usage error that says that this
// version has no registry client.
Result<Reference> parse_reference(const std::string& text);

} // namespace xaas::oci
