#include "space.h"

#include <algorithm>

namespace xaas::deploy {

namespace {

// The part of a layer that this form of the image carries over.
uint64_t written(const oci::Reference& output, const oci::Descriptor& layer) {
  std::error_code code;
  if (output.transport == oci::Transport::layout &&
      fs::exists(output.path / "blobs" / "sha256" / layer.digest.hex(), code))
    return 0;
  return layer.size;
}

bool is_used(const oci::Descriptor& layer, const std::string& configuration) {
  const std::vector<std::string> users = image::layer_configurations(layer);
  return users.empty() || std::find(users.begin(), users.end(), configuration) != users.end();
}

} // namespace

std::vector<SpaceNeed> space_needs(const Request& request, const image::ApplicationImage& source,
                                   const std::string& configuration, const image::Usage& usage) {
  const image::Bundle& bundle = source.bundle();
  uint64_t modules = 0, kit = 0;
  for (const Digest& module : usage.modules)
    if (const auto found = bundle.modules.find(module); found != bundle.modules.end())
      modules += found->second;
  for (const Digest& file : usage.kit)
    if (const auto found = bundle.kit.find(file); found != bundle.kit.end())
      kit += found->second.size;
  std::vector<SpaceNeed> needs = {{"temporary files", temporary_root(), modules + kit}};
  const std::vector<oci::Descriptor>& layers = source.image().manifest().layers;
  if (request.output && request.output->transport != oci::Transport::registry) {
    uint64_t bytes = modules / 4; // programs, compressed
    for (const size_t layer : source.kept_layers(configuration))
      bytes += written(*request.output, layers[layer]);
    needs.push_back({"the image", request.output->path, bytes});
  }
  if (request.objects)
    needs.push_back({"kept objects", request.objects->cache().root(), modules / 4});
  if (request.access.blobs && request.image.transport == oci::Transport::registry) {
    uint64_t bytes = 0;
    for (const oci::Descriptor& layer : layers)
      if (is_used(layer, configuration))
        bytes += layer.size;
    needs.push_back({"blobs from the registry", request.access.blobs->root(), bytes});
  }
  return needs;
}

std::vector<SpaceNeed> space_needs_from_source(const Request& request,
                                               const image::ApplicationImage& source) {
  constexpr uint64_t expansion = 3;    // of compressed programs and text
  constexpr uint64_t build_factor = 8; // objects and programs, relative to compressed sources
  uint64_t toolchain = 0, base = 0, sources = 0;
  for (const oci::Descriptor& layer : source.image().manifest().layers) {
    toolchain += image::layer_role(layer) == "base" ? layer.size : 0;
    base += image::layer_role(layer) == image::base_role ? layer.size : 0;
    sources += image::layer_role(layer) == "source" ? layer.size : 0;
  }
  const bool host =
      std::find(request.runtimes.begin(), request.runtimes.end(), "host") != request.runtimes.end();
  std::vector<SpaceNeed> needs = {{"temporary files", temporary_root(), build_factor * sources}};
  std::error_code code;
  if (!fs::exists(request.trees, code)) // otherwise they may be there already
    needs.push_back(
        {"the trees of the image", request.trees, expansion * (sources + base + (host ? 0 : toolchain))});
  return needs;
}

} // namespace xaas::deploy
