// Images for several architectures, or for several CPUs of one, listed in one index.
#pragma once

#include <xaas/registry/images.h>

#include <memory>
#include <string>
#include <vector>

namespace xaas::registry {

// The images that a reference has for these architectures (OCI names), in this order, then in that of the
// index, each once. Without an index, the single image, whatever its architecture. If there is none,
// unsatisfied; other errors as open_image() and oci::list_images().
Result<std::vector<std::unique_ptr<oci::Image>>> open_images(const oci::Reference& reference,
                                                             const std::vector<std::string>& architectures,
                                                             const Access& access);

} // namespace xaas::registry
