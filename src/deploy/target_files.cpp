#include "target_files.h"

#include <xaas/base/text.h>
#include <xaas/image/application_image.h>
#include <xaas/image/targets.h>
#include <xaas/loader/search.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace xaas::deploy {

namespace {

Result<TargetFile> read_file(const std::string& path, oci::LayerEntry entry, const std::string& arch,
                             Contents& contents) {
  TargetFile file{.kind = entry.kind, .mode = entry.mode};
  if (entry.kind == TargetFile::Kind::symlink) {
    file.link = entry.link;
    file.digest = digest_of(file.link);
  }
  if (entry.kind != TargetFile::Kind::file)
    return file;
  file.digest = digest_of(entry.content);
  file.script = entry.content.starts_with("#!");
  file.archive = entry.content.starts_with("!<arch>\n") || entry.content.starts_with("!<thin>\n");
  if (loader::is_elf_for(entry.content, arch)) {
    XAAS_TRY(file.dynamic, loader::read_dynamic_in_worker("/" + path, entry.content));
  }
  contents.try_emplace(file.digest, std::move(entry.content));
  return file;
}

// The architecture of the GPU is for its driver to tell.
std::string device_of(const std::string& gpu) {
  if (gpu.empty() || gpu == "none" || gpu == "cpu")
    return {};
  return gpu.starts_with("gfx") ? "/dev/kfd" : "/dev/nvidiactl";
}

std::string without_level(const std::string& configuration) {
  std::vector<std::string> values = split(configuration, ',');
  std::erase_if(values, [](const std::string& value) { return value.starts_with("isa="); });
  return join(values, ",");
}

// The path relative to the root that an absolute one, or one relative to a directory, means.
std::string below_root(const std::string& directory, const std::string& path) {
  std::string plain = (fs::path("/" + directory) / path / ".").lexically_normal();
  plain.pop_back(); // the slash of a directory
  return plain.substr(std::min<size_t>(1, plain.size()));
}

std::string directory_of(const std::string& path) {
  return fs::path(path).parent_path();
}

// How the files of one target find each other's libraries.
class Libraries {
public:
  Libraries(const TargetFiles& target, const std::string& arch) : target_(target) {
    settings_.arch = arch;
    settings_.directories.lib = "lib/" + arch + "-linux-gnu";
    for (const auto& [path, file] : target.files)
      if (file.is_library() ||
          (file.kind == TargetFile::Kind::symlink && path.find(".so") != std::string::npos))
        places_[fs::path(path).filename()].insert(directory_of(path));
  }

  void collect(std::set<std::string>& directories, std::set<image::Warning>& warnings) {
    for (const auto& [path, file] : target_.files)
      if (file.dynamic) {
        collect_absolute(path, *file.dynamic, directories, warnings);
        for (const std::string& needed : file.dynamic->needed)
          if (const auto place = places_.find(needed); place != places_.end())
            collect_needed(path, *file.dynamic, needed, place->second, directories);
      }
  }

  // `directories` come first.
  Result<void> check(const std::set<std::string>& directories) const {
    for (const Found& found : found_)
      for (const std::string& directory : directories) {
        if (!places_.at(found.library).contains(directory))
          continue;
        if (directory == found.directory)
          break;
        return make_error(ErrorKind::failed,
                          "/" + found.by + " finds " + found.library + " in /" + found.directory +
                              ", and other programs need /" + directory +
                              ", which also has one, before it in LD_LIBRARY_PATH",
                          "a file tree for several targets cannot serve both; write an image (oci:DIR)");
      }
    return {};
  }

private:
  struct Found {
    std::string by, library, directory;
  };

  std::string searched(const std::string& path, const std::string& entry) const {
    return below_root("", loader::expanded(entry, "/" + directory_of(path), settings_));
  }
  static bool is_absolute(const std::string& entry) { return entry.starts_with("/"); }
  bool has_libraries(const std::string& directory) const {
    return std::any_of(places_.begin(), places_.end(),
                       [&](const auto& place) { return place.second.contains(directory); });
  }

  // Also for libraries that are loaded by name when the program runs.
  void collect_absolute(const std::string& path, const loader::Dynamic& dynamic,
                        std::set<std::string>& directories, std::set<image::Warning>& warnings) const {
    for (const std::string& entry : dynamic.runpath) {
      const std::string directory = searched(path, entry);
      if (!is_absolute(entry) || !has_libraries(directory))
        continue;
      if (dynamic.rpath_is_first)
        warnings.insert(
            {"tree", "/" + path, 0,
             "has DT_RPATH /" + directory +
                 ", which precedes LD_LIBRARY_PATH: it loads the libraries of the weakest target"});
      else
        directories.insert(directory);
    }
  }

  void collect_needed(const std::string& path, const loader::Dynamic& dynamic, const std::string& needed,
                      const std::set<std::string>& places, std::set<std::string>& directories) {
    for (const std::string& entry : dynamic.runpath)
      if (const std::string directory = searched(path, entry); places.contains(directory)) {
        if (!dynamic.rpath_is_first)
          found_.push_back({path, needed, directory});
        return;
      }
    directories.insert(*places.rbegin()); // as package.cpp does
  }

  const TargetFiles& target_;
  loader::Settings settings_;
  std::map<std::string, std::set<std::string>> places_; // by name of a library, its directories
  std::vector<Found> found_;                            // through RUNPATH
};

} // namespace

bool TargetFiles::is_command(const std::string& path) const {
  constexpr unsigned most_links = 40;
  std::string place = path;
  for (unsigned i = 0; i < most_links; ++i) {
    const auto found = files.find(place);
    if (found == files.end())
      return false;
    if (found->second.kind != TargetFile::Kind::symlink)
      return found->second.is_program() || found->second.is_script();
    place = below_root(directory_of(place), found->second.link);
  }
  return false;
}

Result<TargetFiles> read_target_files(const oci::Image& image, const std::string& directory,
                                      const std::string& arch, Contents& contents) {
  TargetFiles target;
  target.directory = directory;
  target.features =
      target::with_implied(arch, split(image::annotation_of(image, image::annotation::features), ','));
  target.gpu = image::annotation_of(image, image::annotation::gpu);
  target.device = device_of(target.gpu);
  target.configuration = without_level(image::annotation_of(image, "dev.xaas.configuration"));
  const std::string level = target::isa_level(arch, target.features);
  XAAS_TRY(const std::vector<std::string> of_level, target::features_of(arch, level));
  if (arch == "x86_64" && // glibc has directories for its levels alone
      level != target::isa_levels(arch).front() &&
      target::missing_features(target.features, of_level).empty())
    target.level = level;
  for (size_t i = 0; i < image.manifest().layers.size(); ++i) {
    const oci::Descriptor& layer = image.manifest().layers[i];
    if (image::layer_role(layer) != application_role)
      continue;
    XAAS_TRY(const oci::BlobPtr blob, image.open_blob(layer));
    const auto add = [&](oci::LayerEntry entry) -> Result<void> {
      const std::string path = entry.path;
      XAAS_TRY(target.files[path], read_file(path, std::move(entry), arch, contents));
      return {};
    };
    XAAS_CHECK(oci::read_layer(blob, layer.media_type, &image.config().diff_ids[i], add));
  }
  return target;
}

Result<std::set<std::string>> directories_to_search(const std::vector<TargetFiles>& targets,
                                                    const std::string& arch,
                                                    std::set<image::Warning>& warnings) {
  std::vector<Libraries> all;
  std::set<std::string> directories;
  for (const TargetFiles& target : targets) {
    all.emplace_back(target, arch);
    all.back().collect(directories, warnings);
  }
  for (const Libraries& each : all)
    XAAS_CHECK(each.check(directories));
  return directories;
}

} // namespace xaas::deploy
