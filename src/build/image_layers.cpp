#include "image_layers.h"

#include <xaas/target/cpu.h>

namespace xaas::build {

Result<ImageLayers> layers_of_image(const std::string& text, const std::string& arch,
                                    const registry::Access& access) {
  XAAS_TRY(const oci::Reference reference, oci::parse_reference(text));
  XAAS_TRY(auto opened, registry::open_image(reference, target::oci_architecture(arch), access));
  ImageLayers result;
  result.image = std::move(opened);
  const oci::Image& image = *result.image;
  if (image.config().architecture != target::oci_architecture(arch))
    return make_error(ErrorKind::unsatisfied, text + ": is for " + image.config().architecture + ", not " +
                                                  target::oci_architecture(arch));
  for (size_t i = 0; i < image.manifest().layers.size(); ++i) {
    oci::NewLayer layer = oci::layer_of(image, i);
    layer.open = [image = result.image, open = std::move(layer.open)] { return open(); }; // keeps the image
    result.layers.push_back(std::move(layer));
  }
  result.name = image.digest().to_string();
  if (reference.transport == oci::Transport::registry) {
    const std::string repository = reference.host + "/" + reference.repository;
    result.reference = repository + (reference.tag.empty() ? "" : ":" + reference.tag);
    result.name = "docker://" + repository + "@" + result.name;
  }
  return result;
}

} // namespace xaas::build
