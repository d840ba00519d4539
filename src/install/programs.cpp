#include "programs.h"

#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>
#include <xaas/image/application_image.h>
#include <xaas/image/warning.h>
#include <xaas/oci/layer.h>

#include <algorithm>
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

// The paths that the layers of the application have.
Result<std::set<std::string>> own_paths(const std::vector<std::unique_ptr<oci::Image>>& images) {
  std::set<std::string> paths;
  for (const std::unique_ptr<oci::Image>& each : images)
    for (size_t i = 0; i < each->manifest().layers.size(); ++i) {
      const oci::Descriptor& layer = each->manifest().layers[i];
      if (image::layer_role(layer) != "application")
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

} // namespace

Result<Programs> find_programs(const fs::path& tree, const std::vector<std::unique_ptr<oci::Image>>& images,
                               const std::vector<std::string>& search_path) {
  XAAS_TRY(const std::set<std::string> own, own_paths(images));
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

} // namespace xaas::install
