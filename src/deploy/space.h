// What deploying will write, about.
#pragma once

#include <xaas/base/space.h>
#include <xaas/deploy/deploy.h>
#include <xaas/image/application_image.h>

namespace xaas::deploy {

// From the sizes in the image's metadata, for one configuration: nothing else is read.
std::vector<SpaceNeed> space_needs(const Request& request, const image::ApplicationImage& source,
                                   const std::string& configuration, const image::Usage& usage);

// The same of a configuration that is built from source: toolchain and sources unpacked, and a build of them.
std::vector<SpaceNeed> space_needs_from_source(const Request& request, const image::ApplicationImage& source);

} // namespace xaas::deploy
