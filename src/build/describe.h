// What every image says of its application, whatever it has of it.
#pragma once

#include <xaas/build/build.h>
#include <xaas/image/bundle.h>

namespace xaas::build {

// Name, version, sources and revision, versions of the tool.
Result<void> describe(const Request& request, image::Bundle& bundle);

// What we write ourselves, and is no part of the sources where it lies among them.
std::vector<fs::path> own_paths(const Request& request, const fs::path& work);

} // namespace xaas::build
