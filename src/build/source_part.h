// What an image needs so that the target builds configurations itself: sources and toolchain.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/build/build.h>
#include <xaas/image/application_image.h>

#include <string>

namespace xaas::build {

struct SourcePart {
  image::SourceLayers layers;
  spec::Toolchain toolchain; // with PATH and image as they are
  SourceReport report;
};

// Files of the layers that are not kept elsewhere lie in `work`, which must stay until the image has been
// written. `own_paths`: what we write ourselves, and is no part of the sources. Errors: those of
// list_sources, downloads and toolchain_layers; failed where there are secrets among the sources, all of them
// with file and line.
Result<SourcePart> make_source_part(const Request& request, const std::vector<fs::path>& own_paths,
                                    const fs::path& work, Progress& progress);

} // namespace xaas::build
