// Images in a registry, for writing.
#pragma once

#include <xaas/registry/images.h>

namespace xaas::registry {

Result<Digest> push(const oci::Reference& reference, const oci::NewImage& image, const Access& access,
                    Progress& progress);
// Begins an upload and cancels it.
Result<void> check_push(const oci::Reference& reference, const Access& access);

} // namespace xaas::registry
