#include <xaas/image/base_image.h>

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/loader/c_library.h>
#include <xaas/oci/layer.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::image {

namespace {

using FileKind = link::InstalledFile::Kind;
using NameKind = oci::NameTree::Kind;

std::string without_root(const std::string& path) {
  return fs::path(path).relative_path();
}

Error in_the_way(const std::string& path, const std::string& what) {
  return make_error(ErrorKind::failed, "/" + path + ": the base image has " + what,
                    "install it elsewhere (`image.prefix`), or choose another base image");
}

} // namespace

Result<std::unique_ptr<BaseImage>> BaseImage::read(Base description, const oci::Layers& layers,
                                                   const fs::path& tree, const std::string& arch,
                                                   const std::map<std::string, std::string>& environment) {
  std::unique_ptr<BaseImage> base(new BaseImage(std::move(description), tree, arch));
  XAAS_CHECK(base->read_names(layers));
  std::map<std::string, std::string> variables = environment;
  variables.merge(variables_of(base->description_.config.env));
  const std::string path = variables["LD_LIBRARY_PATH"];
  loader::Settings& settings = base->settings_;
  settings = loader::settings_for(tree, arch, path.empty() ? std::vector<std::string>() : split(path, ':'));
  settings.directories.configured.clear(); // the loader reads only the cache
  if (const TreePlace loader = find_in_tree(tree, loader::loader_path(arch));
      loader.type == fs::file_type::regular) {
    constexpr uint64_t largest_loader = uint64_t(64) << 20;
    XAAS_TRY(const std::string bytes, read_file(loader.outside, largest_loader));
    settings.directories.defaults = loader::default_directories_of(bytes, arch);
  }
  base->own_directories_ = settings.directories.defaults;
  XAAS_TRY(const loader::Found libc, loader::find_library(base->root_, settings, nullptr, "libc.so.6"));
  base->has_c_library_ = libc.library && !libc.library->dynamic.versions.empty();
  return base;
}

Result<void> BaseImage::replace_loader(const std::vector<std::string>& directories) {
  XAAS_TRY(const loader::Found before, find("libc.so.6"));
  settings_.directories.defaults = directories;
  XAAS_TRY(const loader::Found after, find("libc.so.6"));
  if (before.library && !after.library)
    return make_error(
        ErrorKind::failed,
        "the application needs a newer C library than the base image has, and its loader does not search " +
            fs::path(before.place).parent_path().string() + ", where libraries of the base are",
        "run ldconfig in the base image, or build on its distribution");
  return {};
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

Result<std::map<std::string, std::string>> BaseImage::place_files(std::vector<link::InstalledFile>& files) {
  std::map<std::string, link::InstalledFile> placed;
  std::map<std::string, std::string> paths;
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
    paths[old] = file.path;
    note_directories(file.path);
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
  return paths;
}

Result<loader::Found> BaseImage::find(const std::string& name) {
  if (!has_c_library_)
    return loader::Found();
  return loader::find_library(root_, settings_, nullptr, name);
}

Result<std::vector<const loader::Library*>> BaseImage::find_for_levels(const std::string& name) {
  std::vector<std::string> directories = settings_.library_path;
  const std::vector<std::string> all = settings_.directories.all();
  directories.insert(directories.end(), all.begin(), all.end());
  std::vector<const loader::Library*> found;
  for (const std::string& directory : directories)
    for (const std::string& level : target::isa_levels(settings_.arch)) {
      XAAS_TRY(const loader::Library* const library,
               root_.read(directory + "/glibc-hwcaps/" + level + "/" + name));
      if (library)
        found.push_back(library);
    }
  return found;
}

Result<const loader::Library*>
BaseImage::find_by_runpath(const std::string& file, const loader::Dynamic& dynamic, const std::string& name) {
  for (const std::string& entry : dynamic.runpath) {
    // Directories of the application need not be in the base.
    const std::string directory =
        fs::path(loader::expanded(entry, fs::path(file).parent_path(), settings_)).lexically_normal();
    if (!directory.starts_with("/"))
      continue;
    XAAS_TRY(const loader::Library* const library, root_.read(directory + "/" + name));
    if (library)
      return library;
  }
  return nullptr;
}

Result<bool> BaseImage::is_complete(const loader::Library& library) {
  XAAS_TRY(const loader::Loading loading, loader::load(root_, settings_, {{&library}}));
  return loading.missing.empty();
}

void BaseImage::note_directories(const std::string& path) {
  fs::path above;
  for (const fs::path& part : fs::path(path).parent_path()) {
    above /= part;
    if (const oci::NameTree::Entry* const entry = names_.find("/" + above.string()))
      description_.directories.emplace(above, entry->directory);
  }
}

void BaseImage::note_library(const std::string& name, const std::vector<std::string>& versions) {
  description_.libraries.emplace(name, versions);
}

} // namespace xaas::image
