// From installed files to a deployed image.
#pragma once

#include "assemble.h"
#include "reuse.h"
#include "source_build.h"

#include <xaas/image/application_image.h>
#include <xaas/oci/image.h>
#include <xaas/oci/layer.h>
#include <xaas/provenance/sbom.h>

namespace xaas::deploy {

// The deployed image: the closure's layers of the IR image byte for byte, one application layer, and
// annotations that lead back to its inputs. `files`, if not null, receives its regular files; `known`, if not
// null, has compressed layers of earlier deploys.
Result<oci::NewImage> package(const image::ApplicationImage& source,
                              const image::BundleConfiguration& configuration, Assembly assembly,
                              const Inputs& inputs, int64_t time, const oci::CompressedLayers* known,
                              provenance::FileList* files);
// The same for a build from source: a layer with the closure, if there is one, and the application's layer.
Result<oci::NewImage> package(const image::ApplicationImage& source, SourceBuilt built, const Inputs& inputs,
                              int64_t time, const oci::CompressedLayers* known, provenance::FileList* files);

} // namespace xaas::deploy
