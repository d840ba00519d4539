#include "base.h"

namespace xaas::build {

namespace {

// Docker's storage drivers take 127 layers; an application has up to 17 of its own.
constexpr size_t most_layers = 100;

// Labels that describe the base, and not the images made from it.
bool describes_image(const std::string& label) {
  return label.starts_with("org.opencontainers.image.") || label.starts_with("dev.xaas.") ||
         label.starts_with("org.label-schema.");
}

image::Base describe(const ImageLayers& layers) {
  image::Base base;
  base.digest = layers.image->digest();
  base.reference = layers.reference;
  const oci::ImageConfig& config = layers.image->config();
  base.config.entrypoint = config.entrypoint;
  base.config.cmd = config.cmd;
  base.config.env = config.env;
  base.config.working_directory = config.working_directory;
  base.config.labels = config.labels;
  std::erase_if(base.config.labels, [](const auto& label) { return describes_image(label.first); });
  base.config.others = config.others;
  base.config.others.erase("OnBuild"); // it has happened
  return base;
}

Result<OpenedBase> open(const std::string& reference, const std::string& arch, const fs::path& tree,
                        const std::map<std::string, std::string>& environment, const registry::Access& access,
                        Progress& progress) {
  XAAS_TRY(ImageLayers layers, layers_of_image(reference, arch, access));
  if (const std::string kind = image::kind_of(*layers.image); kind == "ir" || kind == "source")
    return make_error(ErrorKind::usage,
                      reference + ": " + (kind == "ir" ? "an IR" : "a source") +
                          " image cannot be the base of an application",
                      "a deployed image can");
  if (layers.layers.empty())
    return make_error(ErrorKind::usage, reference + ": has no layers", "the base `scratch` has none either");
  if (layers.layers.size() > most_layers)
    return make_error(ErrorKind::usage,
                      reference + ": has " + std::to_string(layers.layers.size()) +
                          " layers; a base image may have " + std::to_string(most_layers),
                      "make one layer of them (`buildah build --squash-all`)");
  uint64_t bytes = 0;
  for (const oci::NewLayer& layer : layers.layers)
    bytes += layer.descriptor.size;
  progress.start_bytes("reading the base image", bytes);
  XAAS_TRY(const oci::Layers opened, oci::open_layers(*layers.image, progress));
  OpenedBase base;
  XAAS_CHECK(oci::unpack(opened, tree).in(reference));
  XAAS_TRY(base.image,
           image::BaseImage::read(describe(layers), opened, tree, arch, environment).in(reference));
  progress.finish();
  base.layers = std::move(layers.layers);
  base.name = std::move(layers.name);
  return base;
}

} // namespace

Result<OpenedBase> open_base(const std::string& reference, const std::string& arch, const fs::path& tree,
                             const std::map<std::string, std::string>& environment,
                             const registry::Access& access, Progress& progress) {
  return open(reference, arch, tree, environment, access, progress).in("base image");
}

} // namespace xaas::build
