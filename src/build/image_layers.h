// The layers of an existing image, for images that are written with them.
#pragma once

#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/registry/images.h>

#include <memory>
#include <string>
#include <vector>

namespace xaas::build {

struct ImageLayers {
  std::shared_ptr<const oci::Image> image;
  std::vector<oci::NewLayer> layers; // byte for byte; can be opened several times
  std::string reference;             // HOST/NAME[:TAG]; empty: not in a registry
  // docker://HOST/NAME@DIGEST in a registry, else the digest: it does not depend on where the image was.
  std::string name;
};

// Errors: those of parsing a reference and of opening an image; unsatisfied if it is for another
// architecture.
Result<ImageLayers> layers_of_image(const std::string& reference, const std::string& arch,
                                    const registry::Access& access);

} // namespace xaas::build
