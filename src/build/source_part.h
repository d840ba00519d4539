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
  spec::Toolchain toolchain; // with the PATH and image that were found
  SourceReport report;
};

// Some files of the layers lie in `work`, which must exist until the image has been written. `own_paths`:
// paths that we write ourselves and that do not belong to the sources. Errors: those of list_sources,
// downloads and toolchain_layers; failed if there are secrets among the sources, listing all of them with
// file and line.
Result<SourcePart> make_source_part(const Request& request, const std::vector<fs::path>& own_paths,
                                    const fs::path& work, Progress& progress);

} // namespace xaas::build
