// Images in a registry, for reading.
#pragma once

#include <xaas/registry/images.h>

namespace xaas::registry {

Result<std::unique_ptr<oci::Image>> open_remote(const oci::Reference& reference,
                                                const std::string& architecture, const Access& access);

} // namespace xaas::registry
