// Writing images to a registry.
#pragma once

#include <xaas/oci/publication.h>
#include <xaas/registry/images.h>

namespace xaas::registry {

// Progress is in bytes, of blobs that are there already, too; several threads report it.
Result<Digest> push(const oci::Reference& reference, const oci::Publication& publication,
                    const Access& access, Progress& progress);
Result<void> check_push(const oci::Reference& reference, const Access& access);

} // namespace xaas::registry
