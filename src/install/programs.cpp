#include "programs.h"

#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/image/application_image.h>
#include <xaas/image/warning.h>
#include <xaas/launcher/launcher.h>
#include <xaas/loader/loading.h>
#include <xaas/oci/layer.h>

#include <algorithm>
#include <array>
#include <set>
#include <unistd.h>

namespace xaas::install {

namespace {

// solver.so, libsolver.so.1.2; not solver.sorted
bool is_library_name(const std::string& name) {
  for (size_t at = name.find(".so"); at != std::string::npos; at = name.find(".so", at + 1))
    if (name.find_first_not_of("0123456789.", at + 3) == std::string::npos)
      return true;
  return false;
}

// For scripts, listings and shells.
bool is_plain_name(const std::string& name) {
  return !name.starts_with("-") && std::all_of(name.begin(), name.end(), [](char c) {
    return is_word_character(c) || std::string_view(".+-@%,=").find(c) != std::string_view::npos;
  });
}

bool is_program(const fs::path& tree, const std::string& path) {
  const TreePlace file = find_in_tree(tree, path);
  return file.type == fs::file_type::regular && access(file.outside.c_str(), X_OK) == 0;
}

// The paths that the layers with these roles have.
Result<std::set<std::string>> paths_of(const std::vector<std::unique_ptr<oci::Image>>& images,
                                       const std::set<std::string>& roles) {
  std::set<std::string> paths;
  for (const std::unique_ptr<oci::Image>& each : images)
    for (size_t i = 0; i < each->manifest().layers.size(); ++i) {
      const oci::Descriptor& layer = each->manifest().layers[i];
      if (!roles.contains(image::layer_role(layer)))
        continue;
      XAAS_TRY(const oci::BlobPtr blob, each->open_blob(layer));
      const auto add = [&](const oci::LayerEntry& entry, oci::LayerContent&) -> Result<void> {
        paths.insert("/" + entry.path);
        return {};
      };
      XAAS_CHECK(
          oci::stream_layer(blob, layer.media_type, &each->config().diff_ids[i], oci::layer_limit, add));
    }
  return paths;
}

// Programs do without the image's, or find the machine's.
bool is_of_every_system(const std::string& path) {
  static const std::array<std::string, 3> places = {"usr/share/zoneinfo/", "usr/share/locale/",
                                                    "usr/lib/locale/"};
  return std::any_of(places.begin(), places.end(),
                     [&](const std::string& place) { return path.starts_with(place); });
}

} // namespace

Result<Programs> find_programs(const fs::path& tree, const std::vector<std::unique_ptr<oci::Image>>& images,
                               const std::vector<std::string>& search_path) {
  XAAS_TRY(const std::set<std::string> own, paths_of(images, {"application"}));
  Programs programs;
  std::vector<std::string> odd;
  const auto add = [&](const std::string& path) {
    const std::string name = fs::path(path).filename();
    if (!is_program(tree, path) || is_library_name(name))
      return;
    if (is_plain_name(name))
      programs.paths.emplace(name, path);
    else
      odd.push_back(printable(replaced(path, "\n", "\\n")));
  };
  const std::vector<std::string>& entry_point = images.front()->config().entrypoint;
  if (!entry_point.empty()) {
    const std::string& entry = entry_point.front();
    std::vector<std::string> candidates = {entry};
    if (!entry.starts_with("/")) {
      candidates.clear();
      for (const std::string& directory : search_path)
        candidates.push_back(directory + "/" + entry);
    }
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const std::string& path) { return is_program(tree, path); });
    if (found != candidates.end()) {
      add(*found);
      programs.main = *found;
    }
  }
  std::map<std::string, std::vector<std::string>> own_by_directory; // without links
  std::map<std::string, std::string> inside;
  for (const std::string& path : own) {
    const auto [known, is_new] = inside.try_emplace(fs::path(path).parent_path());
    if (is_new)
      known->second = find_in_tree(tree, known->first).inside;
    own_by_directory[known->second].push_back(path);
  }
  for (const std::string& directory : search_path)
    for (const std::string& path : own_by_directory[find_in_tree(tree, directory).inside])
      add(path);
  if (!odd.empty()) {
    std::sort(odd.begin(), odd.end());
    odd.erase(std::unique(odd.begin(), odd.end()), odd.end());
    constexpr size_t most = 3;
    programs.notes.push_back("no script starts " + image::few(odd, most) +
                             ": the name has other characters than letters, digits and ._+-@%,=");
  }
  if (programs.paths.empty())
    return make_error(ErrorKind::usage,
                      "the application has no programs on the image's PATH and no entry point");
  if (programs.main.empty() || !is_plain_name(fs::path(programs.main).filename()))
    programs.main = programs.paths.begin()->second;
  return programs;
}

bool has_base(const std::vector<std::unique_ptr<oci::Image>>& images) {
  const std::vector<oci::Descriptor>& layers = images.front()->manifest().layers;
  return std::any_of(layers.begin(), layers.end(), [](const oci::Descriptor& layer) {
    return image::layer_role(layer) == image::base_role;
  });
}

Result<void> mark_base(const fs::path& tree, const std::string& arch,
                       const std::vector<std::unique_ptr<oci::Image>>& images, std::vector<File>& files) {
  XAAS_TRY(const std::set<std::string> own, paths_of(images, {"application", "runtime"}));
  const std::string targets = std::string(launcher::targets_directory) + "/";
  loader::Loader loader(tree, arch, {}, false);
  std::set<std::string> loaded;
  for (File& file : files) {
    const std::string path = "/" + file.path;
    file.of_base = !own.contains(path) && !file.path.starts_with(targets);
    if (file.of_base || file.type != fs::file_type::regular)
      continue;
    const Result<const loader::Library*> binary = loader.read(path); // a damaged one may be data
    if (!binary && binary.error().kind == ErrorKind::interrupted)
      return binary.error();
    if (!binary || !*binary)
      continue;
    XAAS_TRY(const loader::Loading loading, loader.load({{*binary}}));
    for (const auto& object : loading.objects)
      loaded.insert(object->library->path);
  }
  for (File& file : files)
    file.is_loaded = file.of_base && loaded.contains("/" + file.path);
  std::erase_if(files, [](const File& file) { return file.of_base && is_of_every_system(file.path); });
  return {};
}

} // namespace xaas::install
