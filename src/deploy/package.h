// From installed files to a deployed image.
#pragma once

#include "assemble.h"
#include "reuse.h"
#include "source_build.h"

#include <xaas/image/application_image.h>
#include <xaas/oci/image.h>
#include <xaas/provenance/sbom.h>

namespace xaas::deploy {

// The deployed image: the closure's layers of the IR image byte for byte, one application layer, annotations
// that lead back to what made it. `files`, if not null, gets its regular files.
Result<oci::NewImage> package(const image::ApplicationImage& source,
                              const image::BundleConfiguration& configuration, Assembly assembly,
                              const Inputs& inputs, int64_t time, provenance::FileList* files);
// The same of what was built from source: a layer with the closure, if there is any, and the application's.
Result<oci::NewImage> package(const image::ApplicationImage& source, SourceBuilt built, const Inputs& inputs,
                              int64_t time, provenance::FileList* files);

} // namespace xaas::deploy
