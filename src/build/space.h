// An estimate of what building will write.
#pragma once

#include <xaas/base/space.h>
#include <xaas/build/build.h>

namespace xaas::build {

// Based on the sizes of the sources; one configuration is built at a time.
std::vector<SpaceNeed> space_needs(const Request& request);

} // namespace xaas::build
