// The base image that an application spec names.
#pragma once

#include "image_layers.h"

#include <xaas/base/progress.h>
#include <xaas/image/application_image.h>
#include <xaas/image/base_image.h>

#include <memory>
#include <string>

namespace xaas::build {

struct OpenedBase {
  std::unique_ptr<image::BaseImage> image;
  std::vector<oci::NewLayer> layers; // byte for byte; can be opened several times
  std::string name;                  // ImageLayers::name
};

// Reads the image and unpacks it into the directory `tree`, which must exist as long as the object.
// `environment`: of the application. Errors: those of layers_of_image(); usage for an IR or source image, and
// for an image with so many layers that those of an application would be too many; integrity for damaged
// layers.
Result<OpenedBase> open_base(const std::string& reference, const std::string& arch, const fs::path& tree,
                             const std::map<std::string, std::string>& environment,
                             const registry::Access& access, Progress& progress);

} // namespace xaas::build
