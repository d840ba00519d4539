// Reading images from a registry.
#pragma once

#include "session.h"

#include <xaas/oci/blob_source.h>
#include <xaas/registry/images.h>

#include <optional>

namespace xaas::registry {

Result<std::unique_ptr<oci::Image>> open_remote(const oci::Reference& reference,
                                                const std::string& architecture, const Access& access,
                                                const oci::Chooser& chooser);

// What the reference names, a manifest or an index, and the source of its blobs, at the first of its places
// that has it; not at `avoid`, if there are others.
Result<OpenedSource> open_remote_source(const oci::Reference& reference, const Access& access,
                                        const oci::Reference* avoid = nullptr);

// The manifest or index under a tag or digest, if there is one.
Result<std::optional<oci::Descriptor>> find_manifest(Session& session, const std::string& name);

} // namespace xaas::registry
