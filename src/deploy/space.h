// An estimate of what deploying will write.
#pragma once

#include <xaas/base/space.h>
#include <xaas/deploy/deploy.h>
#include <xaas/image/application_image.h>

namespace xaas::deploy {

// For one configuration, from the sizes in the image's metadata alone.
std::vector<SpaceNeed> space_needs(const Request& request, const image::ApplicationImage& source,
                                   const std::string& configuration, const image::Usage& usage);

// The same for a configuration that is built from source: unpacked toolchain and sources, and a build.
std::vector<SpaceNeed> space_needs_from_source(const Request& request, const image::ApplicationImage& source);

} // namespace xaas::deploy
