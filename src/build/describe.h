// What every image says about its application.
#pragma once

#include <xaas/build/build.h>
#include <xaas/image/bundle.h>

namespace xaas::build {

// Name, version, sources and revision, and versions of the tool.
Result<void> describe(const Request& request, image::Bundle& bundle);

// Paths that we write ourselves. They do not belong to the sources, even if they lie among them.
std::vector<fs::path> own_paths(const Request& request, const fs::path& work);

} // namespace xaas::build
