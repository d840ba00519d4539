#include "target_tree.h"

#include <xaas/base/text.h>
#include <xaas/image/application_image.h>
#include <xaas/image/targets.h>
#include <xaas/launcher/launcher.h>
#include <xaas/loader/dynamic.h>
#include <xaas/loader/search.h>
#include <xaas/oci/layer.h>
#include <xaas/target/cpu.h>
#include <xaas/target/cpuid.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace xaas::deploy {

namespace {

using EntryKind = oci::LayerEntry::Kind;
constexpr const char* modules_directory = ".xaas/modules";
constexpr const char* application_role = "application"; // of the layer

struct File {
  EntryKind kind = EntryKind::file;
  unsigned mode = 0;
  std::string content;                         // or the destination of a symlink
  Digest digest = {};                          // of that
  std::optional<loader::Dynamic> dynamic = {}; // of an ELF file for the image's architecture

  bool same_as(const File& other) const {
    return kind == other.kind && mode == other.mode && digest == other.digest;
  }
  bool is_program() const { return kind == EntryKind::file && (mode & 0111) && dynamic && dynamic->program; }
  bool is_library() const {
    return kind == EntryKind::file && dynamic && !dynamic->program &&
           (dynamic->shared || !dynamic->soname.empty());
  }
  // A library that programs load by its path, because it has no other name.
  bool is_module() const { return is_library() && dynamic->soname.empty(); }
};
using Files = std::map<std::string, File>; // by path

struct Side {
  std::string directory;
  std::vector<std::string> features;
  std::string gpu;   // annotation
  std::string level; // the ISA level that has all of the features, if it is above the lowest; else empty
  Files files;       // of the application
};

Result<File> read_file(const std::string& path, oci::LayerEntry entry, const std::string& arch) {
  File file{entry.kind, entry.mode, std::move(entry.content)};
  if (entry.kind == EntryKind::symlink)
    file.content = entry.link;
  file.digest = digest_of(file.content);
  if (entry.kind == EntryKind::file && loader::is_elf_for(file.content, arch)) {
    XAAS_TRY(file.dynamic, loader::read_dynamic_in_worker("/" + path, file.content));
  }
  return file;
}

Result<Files> application_files(const oci::Image& image, const std::string& arch) {
  Files files;
  for (size_t i = 0; i < image.manifest().layers.size(); ++i) {
    const oci::Descriptor& layer = image.manifest().layers[i];
    if (image::layer_role(layer) != application_role)
      continue;
    XAAS_TRY(const oci::BlobPtr blob, image.open_blob(layer));
    const auto add = [&](oci::LayerEntry entry) -> Result<void> {
      const std::string path = entry.path;
      XAAS_TRY(files[path], read_file(path, std::move(entry), arch));
      return {};
    };
    XAAS_CHECK(oci::read_layer(blob, layer.media_type, &image.config().diff_ids[i], add));
  }
  return files;
}

std::string annotation_of(const oci::Image& image, const char* key) {
  const auto& all = image.manifest().annotations;
  const auto found = all.find(key);
  return found == all.end() ? std::string() : found->second;
}

// A file that only systems with such a GPU have. The architecture of the GPU is for its driver to tell.
std::string device_of(const std::string& gpu) {
  if (gpu.empty() || gpu == "none" || gpu == "cpu")
    return {};
  return gpu.starts_with("gfx") ? "/dev/kfd" : "/dev/nvidiactl";
}

// As image::best_for(): code for GPUs, kernels on the CPU, none; then the number of features that programs
// check for.
auto worth(const Side& side) {
  const int device = !device_of(side.gpu).empty() ? 2 : side.gpu == "cpu" ? 1 : 0;
  const std::span<const target::CpuidBit> bits = target::cpuid_bits();
  const auto features = std::count_if(bits.begin(), bits.end(), [&](const target::CpuidBit& bit) {
    return std::find(side.features.begin(), side.features.end(), bit.name) != side.features.end();
  });
  return std::pair(device, features);
}

// Directories whose libraries programs and other libraries do not find relative to themselves, without a
// slash at the start.
std::set<std::string> directories_to_search(const Files& files, const std::string& arch) {
  std::map<std::string, std::string> places; // by name
  for (const auto& [path, file] : files)
    if (file.is_library() || (file.kind == EntryKind::symlink && path.find(".so") != std::string::npos))
      places[fs::path(path).filename()] = fs::path(path).parent_path();
  loader::Settings settings;
  settings.arch = arch;
  settings.directories.lib = "lib/" + arch + "-linux-gnu";
  const auto finds = [&](const std::string& path, const loader::Dynamic& dynamic, const std::string& place) {
    const std::string origin = "/" + fs::path(path).parent_path().string();
    return std::any_of(dynamic.runpath.begin(), dynamic.runpath.end(), [&](const std::string& entry) {
      const fs::path searched = fs::path(loader::expanded(entry, origin, settings)) / ".";
      return entry.find("ORIGIN") != std::string::npos &&
             searched.lexically_normal() == (fs::path("/" + place) / ".").lexically_normal();
    });
  };
  std::set<std::string> directories;
  for (const auto& [path, file] : files)
    if (file.dynamic)
      for (const std::string& needed : file.dynamic->needed)
        if (const auto place = places.find(needed);
            place != places.end() && !finds(path, *file.dynamic, place->second))
          directories.insert(place->second);
  return directories;
}

class TargetTree {
public:
  explicit TargetTree(const std::vector<TreeTarget>& targets) : targets_(targets) {}

  Result<oci::NewImage> make() {
    XAAS_CHECK(read_targets());
    XAAS_CHECK(make_launcher());
    for (const Side& side : sides_)
      for (const auto& [path, file] : side.files)
        add(std::string(launcher::targets_directory) + "/" + side.directory + "/" + path, file);
    for (const std::string& path : paths())
      XAAS_CHECK(add_common(path));
    for (const Side& side : sides_)
      add_for_level(side);
    XAAS_TRY(oci::NewLayer application, write_layer());
    return image(std::move(application));
  }

private:
  const oci::Image& weakest() const { return *targets_.front().image; }

  Result<void> read_targets() {
    arch_ = weakest().config().architecture == "amd64" ? "x86_64" : weakest().config().architecture;
    std::map<std::string, std::string> known;
    for (const TreeTarget& target : targets_) {
      if (target.image->config().architecture != weakest().config().architecture)
        return make_error(ErrorKind::usage, "a file tree is for one architecture, not for " +
                                                weakest().config().architecture + " and " +
                                                target.image->config().architecture);
      for (const std::string& name : target.names)
        if (!known.emplace(name, target.names.front()).second)
          return make_error(ErrorKind::usage, "the name " + name + " stands for two targets",
                            "XAAS_TARGET could not tell them apart; give the machines different names");
      Side side{.directory = target.names.front(),
                .features = target::with_implied(
                    arch_, split(annotation_of(*target.image, image::annotation::features), ',')),
                .gpu = annotation_of(*target.image, image::annotation::gpu),
                .level = {},
                .files = {}};
      for (const Side& other : sides_)
        if (other.features == side.features && device_of(other.gpu) == device_of(side.gpu) &&
            !device_of(side.gpu).empty())
          return make_error(ErrorKind::usage,
                            "targets " + other.directory + " and " + side.directory +
                                " differ in the architecture of their GPUs alone (" + other.gpu + "; " +
                                side.gpu + "), which a program of a file tree cannot ask for",
                            "write an image (oci:DIR), from which `xaas run` chooses");
      const std::string level = target::isa_level(arch_, side.features);
      XAAS_TRY(const std::vector<std::string> of_level, target::features_of(arch_, level));
      if (level != target::isa_levels(arch_).front() &&
          target::missing_features(side.features, of_level).empty())
        side.level = level;
      XAAS_TRY(side.files, application_files(*target.image, arch_));
      sides_.push_back(std::move(side));
    }
    return {};
  }

  Result<void> make_launcher() {
    std::vector<size_t> best(sides_.size());
    for (size_t i = 0; i < best.size(); ++i)
      best[i] = i;
    std::sort(best.begin(), best.end(), [&](size_t a, size_t b) {
      const auto worth_a = worth(sides_[a]), worth_b = worth(sides_[b]);
      return worth_a != worth_b ? worth_a > worth_b : a < b;
    });
    std::vector<launcher::Target> table;
    std::set<std::string> libraries;
    for (const size_t i : best) {
      for (const std::string& name : targets_[i].names)
        table.push_back({name, sides_[i].directory, sides_[i].features, device_of(sides_[i].gpu)});
      libraries.merge(directories_to_search(sides_[i].files, arch_));
    }
    launcher_.mode = 0755;
    XAAS_TRY(launcher_.content, launcher::program(arch_, table, {libraries.begin(), libraries.end()}));
    launcher_.digest = digest_of(launcher_.content);
    return {};
  }

  std::set<std::string> paths() const {
    std::set<std::string> all;
    for (const Side& side : sides_)
      for (const auto& [path, file] : side.files)
        all.insert(path);
    return all;
  }

  void add(const std::string& path, const File& file) { tree_[path] = &file; }

  // What stands where an absolute path leads.
  Result<void> add_common(const std::string& path) {
    const File* first = nullptr;
    const Side* of_first = nullptr;
    bool program = false, differs = false;
    for (const Side& side : sides_) {
      const auto found = side.files.find(path);
      if (found == side.files.end()) {
        differs = true;
        continue;
      }
      if (first && (first->kind == EntryKind::directory) != (found->second.kind == EntryKind::directory))
        return make_error(ErrorKind::failed, "/" + path + " is a directory for one of " +
                                                 of_first->directory + " and " + side.directory +
                                                 ", and not for the other");
      if (!first) {
        first = &found->second;
        of_first = &side;
      }
      differs |= !first->same_as(found->second);
      program |= found->second.is_program();
    }
    if (program && differs)
      add(path, launcher_);
    else if (first->is_module() && differs && has_level(path))
      return add_module(path, *of_first);
    else
      add(path, *first);
    return {};
  }

  bool has_level(const std::string& path) const {
    return std::any_of(sides_.begin(), sides_.end(),
                       [&](const Side& side) { return !side.level.empty() && side.files.contains(path); });
  }

  // For a module of DIR: in its place, a library that needs one of /.xaas/modules/DIR, which the loader takes
  // for the CPU's level, and which needs the module of a target by its path. By its name, it would get the
  // library in the module's place, which was loaded by that name.
  Result<void> add_module(const std::string& path, const Side& weakest) {
    const std::string name = fs::path(path).filename().string() + ".target";
    const std::string directory =
        std::string(modules_directory) + "/" + fs::path(path).parent_path().string();
    const unsigned mode = weakest.files.at(path).mode;
    const auto add_for = [&](const std::string& place, const Side& side) {
      const std::string module = std::string(launcher::targets_directory) + "/" + side.directory + "/" + path;
      return add_forwarding(place, from_origin(place) + module, "$ORIGIN", mode);
    };
    XAAS_CHECK(add_forwarding(path, name, from_origin(path) + directory, mode));
    XAAS_CHECK(add_for(directory + "/" + name, weakest));
    for (const Side& side : sides_)
      if (!side.level.empty() && side.files.contains(path))
        XAAS_CHECK(add_for(directory + "/glibc-hwcaps/" + side.level + "/" + name, side));
    return {};
  }

  // The tree's root, for a library at this path.
  static std::string from_origin(const std::string& path) {
    std::string root = "$ORIGIN/";
    for (const char c : path)
      if (c == '/')
        root += "../";
    return root;
  }

  Result<void> add_forwarding(const std::string& path, const std::string& needed, const std::string& runpath,
                              unsigned mode) {
    File file;
    file.mode = mode;
    XAAS_TRY(file.content, launcher::forwarding_library(arch_, needed, runpath).in("/" + path));
    file.digest = digest_of(file.content);
    made_.push_back(std::move(file));
    tree_.emplace(path, &made_.back());
    return {};
  }

  // The libraries of a target that is exactly an ISA level, where glibc looks for them by their names.
  void add_for_level(const Side& side) {
    if (side.level.empty())
      return;
    const auto place_of = [&](const std::string& path) {
      const fs::path file = path;
      return (file.parent_path() / "glibc-hwcaps" / side.level / file.filename()).string();
    };
    for (const auto& [path, file] : side.files)
      if (file.is_library() && !file.is_module() && !tree_.at(path)->same_as(file))
        tree_.emplace(place_of(path), &file);
    // libsolver.so.1 -> libsolver.so.1.2; again while links lead to links.
    for (bool added = true; added;) {
      added = false;
      for (const auto& [path, file] : side.files)
        if (file.kind == EntryKind::symlink && file.content.find('/') == std::string::npos &&
            tree_.contains(place_of((fs::path(path).parent_path() / file.content).string())))
          added |= tree_.emplace(place_of(path), &file).second;
    }
  }

  Result<oci::NewLayer> write_layer() const {
    XAAS_TRY(const int64_t time, image::parse_rfc3339(weakest().config().created));
    oci::LayerBuilder builder(time);
    std::map<std::pair<Digest, unsigned>, std::string> written; // the first path of each file
    for (const auto& [path, file] : tree_) {
      if (file->kind == EntryKind::directory) {
        XAAS_CHECK(builder.add_directory(path, file->mode));
      } else if (file->kind == EntryKind::symlink) {
        XAAS_CHECK(builder.add_symlink(path, file->content));
      } else if (const auto [first, is_new] = written.emplace(std::pair(file->digest, file->mode), path);
                 is_new) {
        XAAS_CHECK(builder.add_file(path, file->content, file->mode));
      } else {
        XAAS_CHECK(builder.add_hard_link(path, first->second));
      }
    }
    return builder.finish(oci::Compression::gzip, "xaas deploy: application",
                          {{image::annotation::role, application_role}});
  }

  oci::NewImage image(oci::NewLayer application) const {
    oci::NewImage made;
    made.config = weakest().config();
    made.config.history.clear();
    made.config.diff_ids.clear();
    made.annotations = weakest().manifest().annotations;
    std::vector<std::string> names;
    for (const Side& side : sides_)
      names.push_back(side.directory);
    made.annotations[image::annotation::targets] = join(names, ",");
    made.config.labels = made.annotations;
    std::set<Digest> known;
    for (const TreeTarget& target : targets_)
      for (size_t i = 0; i < target.image->manifest().layers.size(); ++i) {
        const oci::Descriptor& layer = target.image->manifest().layers[i];
        if (image::layer_role(layer) == application_role || !known.insert(layer.digest).second)
          continue;
        oci::NewLayer closure;
        closure.descriptor = layer;
        closure.diff_id = target.image->config().diff_ids[i];
        closure.created_by = "xaas build: runtime";
        closure.open = [image = target.image.get(), layer] { return image->open_blob(layer); };
        made.layers.push_back(std::move(closure));
      }
    made.layers.push_back(std::move(application));
    return made;
  }

  const std::vector<TreeTarget>& targets_;
  std::string arch_;
  std::vector<Side> sides_; // as `targets_`
  File launcher_;
  std::list<File> made_;
  std::map<std::string, const File*> tree_;
};

} // namespace

Result<oci::NewImage> target_tree(const std::vector<TreeTarget>& targets) {
  return TargetTree(targets).make();
}

} // namespace xaas::deploy
