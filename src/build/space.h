// What building will write, about.
#pragma once

#include <xaas/base/space.h>
#include <xaas/build/build.h>

namespace xaas::build {

// From the sizes of the sources: one configuration is built at a time.
std::vector<SpaceNeed> space_needs(const Request& request);

} // namespace xaas::build
