// An image for several machines: what an index lists for more than one architecture.
#pragma once

#include <xaas/registry/images.h>

#include <memory>
#include <string>
#include <vector>

namespace xaas::registry {

// The images that a reference has for these architectures (OCI names), in that order, each once: of an index
// those that it lists, else the one image, whatever it is for. Errors as open_image; none of them:
// unsatisfied.
Result<std::vector<std::unique_ptr<oci::Image>>> open_images(const oci::Reference& reference,
                                                             const std::vector<std::string>& architectures,
                                                             const Access& access);

} // namespace xaas::registry
