#include "base_image.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/loader/c_library.h>
#include <xaas/oci/layer.h>

#include <algorithm>

namespace xaas::build {

namespace {

using FileKind = link::InstalledFile::Kind;
using NameKind = oci::NameTree::Kind;

// Docker's storage drivers take 127 layers; an application has up to 17 of its own.
constexpr size_t most_layers = 100;

std::vector<std::string> library_path_of(const oci::ImageConfig& config) {
  const std::string variable = "LD_LIBRARY_PATH=";
  for (const std::string& each : config.env)
    if (each.starts_with(variable))
      return split(each.substr(variable.size()), ':');
  return {};
}

// Labels of the base that describe the base, not what is made from it.
bool describes_image(const std::string& label) {
  return label.starts_with("org.opencontainers.image.") || label.starts_with("dev.xaas.") ||
         label.starts_with("org.label-schema.");
}

std::string without_root(const std::string& path) {
  return fs::path(path).relative_path();
}

Error in_the_way(const std::string& path, const std::string& what) {
  return make_error(ErrorKind::failed, "/" + path + ": the base image has " + what,
                    "install it elsewhere (`image.prefix`), or choose another base image");
}

} // namespace

BaseImage::BaseImage(ImageLayers layers, const fs::path& tree, const std::string& arch)
    : layers_(std::move(layers)), root_(tree, arch, false) {
  description_.digest = layers_.image->digest();
  description_.reference = layers_.reference;
  const oci::ImageConfig& config = layers_.image->config();
  description_.config.entrypoint = config.entrypoint;
  description_.config.cmd = config.cmd;
  description_.config.env = config.env;
  description_.config.working_directory = config.working_directory;
  description_.config.labels = config.labels;
  std::erase_if(description_.config.labels, [](const auto& label) { return describes_image(label.first); });
  description_.config.others = config.others;
}

Result<std::unique_ptr<BaseImage>> BaseImage::open(const std::string& reference, const std::string& arch,
                                                   const fs::path& tree, const registry::Access& access,
                                                   Progress& progress) {
  XAAS_TRY(ImageLayers layers, layers_of_image(reference, arch, access));
  if (const std::string kind = image::kind_of(*layers.image); kind == "ir" || kind == "source")
    return make_error(ErrorKind::usage,
                      reference + ": an " + (kind == "ir" ? "IR" : kind) +
                          " image cannot be the base of an application",
                      "a deployed image can");
  if (layers.layers.size() > most_layers)
    return make_error(ErrorKind::usage,
                      reference + ": has " + std::to_string(layers.layers.size()) +
                          " layers; a base image may have " + std::to_string(most_layers),
                      "make one layer of them (`buildah build --squash-all`)");
  std::unique_ptr<BaseImage> base(new BaseImage(std::move(layers), tree, arch));
  XAAS_CHECK(base->read(progress, tree).in(reference));
  base->settings_ = loader::settings_for(tree, arch, library_path_of(base->description_.config));
  base->settings_.directories.configured.clear(); // the loader reads only the cache
  XAAS_TRY(const loader::Found libc,
           loader::find_library(base->root_, base->settings_, nullptr, "libc.so.6"));
  base->has_c_library_ = libc.library && !libc.library->dynamic.versions.empty();
  return base;
}

Result<void> BaseImage::read(Progress& progress, const fs::path& tree) {
  uint64_t bytes = 0;
  for (const oci::NewLayer& layer : layers_.layers)
    bytes += layer.descriptor.size;
  progress.start_bytes("reading the base image", bytes);
  XAAS_TRY(const oci::Layers layers, oci::open_layers(*layers_.image, progress));
  for (const oci::Layer& layer : layers) {
    names_.start_layer();
    const auto add = [&](const oci::LayerEntry& entry, oci::LayerContent&) -> Result<void> {
      names_.add(entry);
      return check_interrupt();
    };
    XAAS_CHECK(
        oci::stream_layer(layer.blob, layer.descriptor.media_type, &layer.diff_id, oci::layer_limit, add)
            .in("layer " + layer.descriptor.digest.to_string()));
  }
  XAAS_CHECK(oci::unpack(layers, tree));
  progress.finish();
  return {};
}

Result<std::string> BaseImage::place(const std::string& path) const {
  const std::string placed = without_root(names_.place("/" + path));
  fs::path above;
  for (const fs::path& part : fs::path(placed).parent_path()) {
    above /= part;
    const oci::NameTree::Entry* const entry = names_.find("/" + above.string());
    if (entry && entry->kind == NameKind::file)
      return in_the_way(path, "the file /" + above.string());
    if (entry && entry->kind == NameKind::symlink)
      return in_the_way(path, "the link /" + above.string() + " to " + entry->destination +
                                  ", where it has no directory");
  }
  const oci::NameTree::Entry* const entry = names_.find("/" + placed);
  if (entry && entry->kind == NameKind::directory)
    return in_the_way(path, "a directory there");
  return placed;
}

Result<void> BaseImage::place(std::vector<link::InstalledFile>& files) const {
  std::map<std::string, link::InstalledFile> placed;
  for (link::InstalledFile& file : files) {
    const std::string old = file.path;
    if (file.kind == FileKind::directory) {
      const oci::NameTree::Entry* const there = names_.find(names_.resolve("/" + old));
      if (there && there->kind == NameKind::directory)
        continue;
      if (there)
        return in_the_way(old, "a file there");
    }
    XAAS_TRY(file.path, place(old));
    const fs::path above = fs::path(old).parent_path(), now_above = fs::path(file.path).parent_path();
    if (file.kind == FileKind::symlink && fs::path(file.destination).is_relative() && above != now_above) {
      // Relative to the old directory, resolved as in the base.
      const fs::path meant = (fs::path("/") / above / file.destination).lexically_normal();
      file.destination = fs::path(names_.place(meant)).lexically_relative(fs::path("/") / now_above);
    }
    const auto [known, added] = placed.try_emplace(file.path, file);
    if (!added && link::to_json(known->second) != link::to_json(file))
      return make_error(ErrorKind::failed, "/" + old +
                                               ": the base image has links by which another file has "
                                               "the same path, /" +
                                               file.path);
  }
  files.clear();
  for (auto& [path, file] : placed)
    files.push_back(std::move(file));
  return {};
}

Result<loader::Found> BaseImage::find(const std::string& name) {
  if (!has_c_library_)
    return loader::Found();
  return loader::find_library(root_, settings_, nullptr, name);
}

Result<bool> BaseImage::is_complete(const loader::Library& library) {
  XAAS_TRY(const loader::Loading loading, loader::load(root_, settings_, {{&library}}));
  return loading.missing.empty();
}

void BaseImage::note_files(const std::vector<link::InstalledFile>& files) {
  for (const link::InstalledFile& file : files) {
    fs::path above;
    for (const fs::path& part : fs::path(file.path).parent_path()) {
      above /= part;
      if (const oci::NameTree::Entry* const entry = names_.find("/" + above.string()))
        description_.directories.emplace(above, entry->directory);
    }
  }
}

void BaseImage::note_library(const std::string& name, const std::vector<std::string>& versions) {
  description_.libraries.emplace(name, versions);
}

image::BaseLayers BaseImage::take_layers() {
  return {std::move(layers_.layers), std::move(layers_.annotations)};
}

} // namespace xaas::build
