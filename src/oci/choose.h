// Which manifest a tag or an index refers to.
#pragma once

#include "stored_source.h"

#include <xaas/oci/blob_source.h>

#include <optional>
#include <string>

namespace xaas::oci {

// Resolves an index to the manifest for an architecture: the first, or that of the chooser.
Result<Descriptor> resolve(const BlobSource& source, const Descriptor& root, const std::string& architecture,
                           const Chooser& chooser = {});

// What a reference names in a layout or an archive: a manifest or an index. If the tag exists once per
// platform, the entry for `architecture`, or the first without it.
Result<Descriptor> find_root(const StoredSource& source, const Reference& reference,
                             const std::optional<std::string>& architecture);

} // namespace xaas::oci
