#include <xaas/image/base_image.h>

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/loader/c_library.h>
#include <xaas/oci/layer.h>

#include <algorithm>

namespace xaas::image {

namespace {

using FileKind = link::InstalledFile::Kind;
using NameKind = oci::NameTree::Kind;

std::vector<std::string> library_path_of(const oci::ImageConfig& config) {
  const std::string variable = "LD_LIBRARY_PATH=";
  for (const std::string& each : config.env)
    if (each.starts_with(variable))
      return split(each.substr(variable.size()), ':');
  return {};
}

std::string without_root(const std::string& path) {
  return fs::path(path).relative_path();
}

Error in_the_way(const std::string& path, const std::string& what) {
  return make_error(ErrorKind::failed, "/" + path + ": the base image has " + what,
                    "install it elsewhere (`image.prefix`), or choose another base image");
}

} // namespace

Result<std::unique_ptr<BaseImage>> BaseImage::read(Base description, const oci::Layers& layers,
                                                   const fs::path& tree, const std::string& arch) {
  std::unique_ptr<BaseImage> base(new BaseImage(std::move(description), tree, arch));
  XAAS_CHECK(base->read_names(layers));
  base->settings_ = loader::settings_for(tree, arch, library_path_of(base->description_.config));
  base->settings_.directories.configured.clear(); // the loader reads only the cache
  XAAS_TRY(const loader::Found libc,
           loader::find_library(base->root_, base->settings_, nullptr, "libc.so.6"));
  base->has_c_library_ = libc.library && !libc.library->dynamic.versions.empty();
  return base;
}

Result<void> BaseImage::read_names(const oci::Layers& layers) {
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

} // namespace xaas::image
