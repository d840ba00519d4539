#include "target_files.h"

#include <xaas/base/text.h>
#include <xaas/deploy/target_tree.h>
#include <xaas/image/application_image.h>
#include <xaas/image/targets.h>
#include <xaas/launcher/launcher.h>
#include <xaas/oci/layer.h>
#include <xaas/target/cpu.h>
#include <xaas/target/feature_bits.h>

#include <algorithm>
#include <list>
#include <map>
#include <utility>

namespace xaas::deploy {

namespace {

constexpr const char* modules_directory = ".xaas/modules";

// As image::best_for(): code for GPUs, kernels on the CPU, none; then the number of features that programs
// check for.
auto worth(const std::string& arch, const TargetFiles& target) {
  const int device = !target.device.empty() ? 2 : target.gpu == "cpu" ? 1 : 0;
  return std::pair(device, target::guarded_features(arch, target.features).size());
}

class TargetTree {
public:
  explicit TargetTree(const std::vector<TreeTarget>& targets) : targets_(targets) {}

  Result<oci::NewImage> make(std::set<image::Warning>& warnings) {
    XAAS_CHECK(read_targets());
    XAAS_CHECK(make_launcher(warnings));
    for (const TargetFiles& side : sides_)
      for (const auto& [path, file] : side.files)
        add(own_path(side, path), file);
    for (const std::string& path : paths())
      XAAS_CHECK(add_common(path));
    for (const TargetFiles& side : sides_)
      add_for_level(side);
    if (!common_.empty())
      warnings.insert({"tree", "", 0, common_warning()});
    XAAS_TRY(oci::NewLayer application, write_layer());
    return image(std::move(application));
  }

private:
  const oci::Image& weakest() const { return *targets_.front().image; }

  static std::string own_path(const TargetFiles& side, const std::string& path) {
    return std::string(launcher::targets_directory) + "/" + side.directory + "/" + path;
  }

  Result<void> read_targets() {
    const std::string& architecture = weakest().config().architecture;
    const std::optional<std::string> arch = target::arch_of_oci(architecture);
    if (!arch)
      return make_error(ErrorKind::integrity, "an image is for the architecture " + architecture);
    arch_ = *arch;
    std::set<std::string> known;
    for (const TreeTarget& target : targets_) {
      for (const std::string& name : target.names)
        if (!known.insert(name).second)
          return make_error(ErrorKind::usage, "the name " + name + " stands for two targets",
                            "XAAS_TARGET could not tell them apart; give the machines different names");
      XAAS_TRY(TargetFiles side, read_target_files(*target.image, target.names.front(), arch_, contents_));
      for (const TargetFiles& other : sides_)
        if (!side.device.empty() && side.device == other.device && side.gpu != other.gpu)
          return make_error(ErrorKind::usage,
                            "targets " + other.directory + " and " + side.directory +
                                " are for different GPUs (" + other.gpu + "; " + side.gpu +
                                "), whose architecture a program of a file tree cannot ask for",
                            "`--gpu ARCH,...` gives all targets the code for all of them, and an image "
                            "(oci:DIR) lets `xaas "
                            "run` choose");
      sides_.push_back(std::move(side));
    }
    return {};
  }

  Result<void> make_launcher(std::set<image::Warning>& warnings) {
    std::vector<size_t> best(sides_.size());
    for (size_t i = 0; i < best.size(); ++i)
      best[i] = i;
    std::sort(best.begin(), best.end(), [&](size_t a, size_t b) {
      const auto worth_a = worth(arch_, sides_[a]), worth_b = worth(arch_, sides_[b]);
      return worth_a != worth_b ? worth_a > worth_b : a < b;
    });
    std::vector<launcher::Target> table;
    for (const size_t i : best)
      for (const std::string& name : targets_[i].names)
        table.push_back({name, sides_[i].directory, sides_[i].features, sides_[i].device});
    XAAS_TRY(const std::set<std::string> libraries, directories_to_search(sides_, arch_, warnings));
    XAAS_TRY(std::string program, launcher::program(arch_, table, {libraries.begin(), libraries.end()}));
    launcher_ = made_file(std::move(program), 0755);
    return {};
  }

  const TargetFile* made_file(std::string content, unsigned mode) {
    TargetFile file{.mode = mode};
    file.digest = digest_of(content);
    contents_.try_emplace(file.digest, std::move(content));
    made_.push_back(std::move(file));
    return &made_.back();
  }

  std::set<std::string> paths() const {
    std::set<std::string> all;
    for (const TargetFiles& side : sides_)
      for (const auto& [path, file] : side.files)
        all.insert(path);
    return all;
  }

  void add(const std::string& path, const TargetFile& file) { tree_[path] = &file; }

  // The place that an absolute path of the application leads to. A program gets a launcher even if it is the
  // same for all targets, because its libraries and data may not be.
  Result<void> add_common(const std::string& path) {
    const TargetFiles* weakest = nullptr;
    bool program = false, command = false, absent = false, differs = false;
    for (const TargetFiles& side : sides_) {
      const auto found = side.files.find(path);
      if (found == side.files.end()) {
        absent = true;
        continue;
      }
      if (!weakest)
        weakest = &side;
      const TargetFile& first = weakest->files.at(path);
      if ((first.kind == TargetFile::Kind::directory) != (found->second.kind == TargetFile::Kind::directory))
        return make_error(ErrorKind::failed, "/" + path + " is a directory for one of " + weakest->directory +
                                                 " and " + side.directory + ", and not for the other");
      differs |= !first.same_as(found->second);
      program |= found->second.is_program();
      command |= side.is_command(path);
    }
    const TargetFile& first = weakest->files.at(path);
    if (program || (command && differs)) {
      tree_[path] = launcher_;
      return {};
    }
    if (first.is_module() && (differs || absent) && has_level(path))
      return add_module(path, *weakest);
    if (differs && !first.is_library() && !first.archive && first.kind != TargetFile::Kind::directory)
      common_.push_back("/" + path);
    add(path, first);
    return {};
  }

  std::string common_warning() const {
    constexpr size_t shown = 3;
    return std::to_string(common_.size()) + (common_.size() == 1 ? " file differs" : " files differ") +
           " between targets (" + image::few(common_, shown) +
           "): opened by an absolute path, each is that of the weakest target that has it";
  }

  // glibc asks for no device, and the users of a library were linked with that of the weakest target's
  // configuration.
  bool serves_level(const TargetFiles& side) const {
    return !side.level.empty() && side.device.empty() && side.gpu == sides_.front().gpu &&
           side.configuration == sides_.front().configuration;
  }

  bool has_level(const std::string& path) const {
    return std::any_of(sides_.begin(), sides_.end(), [&](const TargetFiles& side) {
      return serves_level(side) && side.files.contains(path);
    });
  }

  // For a module of DIR: in its place, a library that needs one of /.xaas/modules/DIR, which the loader takes
  // for the CPU's level, and which needs the module of a target by its path. By its name, it would get the
  // library in the module's place, which was loaded by that name.
  Result<void> add_module(const std::string& path, const TargetFiles& weakest) {
    const std::string name = fs::path(path).filename().string() + ".target";
    const std::string directory =
        std::string(modules_directory) + "/" + fs::path(path).parent_path().string();
    const unsigned mode = weakest.files.at(path).mode;
    const auto add_for = [&](const std::string& place, const TargetFiles& side) {
      return add_forwarding(place, from_origin(place) + own_path(side, path), "$ORIGIN", mode);
    };
    XAAS_CHECK(add_forwarding(path, name, from_origin(path) + directory, mode));
    XAAS_CHECK(add_for(directory + "/" + name, weakest));
    for (const TargetFiles& side : sides_)
      if (serves_level(side) && side.files.contains(path))
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
    XAAS_TRY(std::string library, launcher::forwarding_library(arch_, needed, runpath).in("/" + path));
    tree_.emplace(path, made_file(std::move(library), mode));
    return {};
  }

  // The libraries of a target that is exactly an ISA level, where glibc looks for them by their names.
  void add_for_level(const TargetFiles& side) {
    if (!serves_level(side))
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
        if (file.kind == TargetFile::Kind::symlink && file.link.find('/') == std::string::npos &&
            tree_.contains(place_of((fs::path(path).parent_path() / file.link).string())))
          added |= tree_.emplace(place_of(path), &file).second;
    }
  }

  Result<oci::NewLayer> write_layer() {
    XAAS_TRY(const int64_t time, image::parse_rfc3339(weakest().config().created));
    oci::LayerBuilder builder(time);
    std::map<Digest, std::set<unsigned>> modes; // a content with several is needed more than once
    for (const auto& [path, file] : tree_)
      modes[file->digest].insert(file->mode);
    std::map<std::pair<Digest, unsigned>, std::string> written; // the first path of each file
    for (const auto& [path, file] : tree_) {
      if (file->kind == TargetFile::Kind::directory) {
        XAAS_CHECK(builder.add_directory(path, file->mode));
      } else if (file->kind == TargetFile::Kind::symlink) {
        XAAS_CHECK(builder.add_symlink(path, file->link));
      } else if (const auto [first, is_new] = written.emplace(std::pair(file->digest, file->mode), path);
                 !is_new) {
        XAAS_CHECK(builder.add_hard_link(path, first->second));
      } else if (std::string& content = contents_.at(file->digest); modes.at(file->digest).size() == 1) {
        XAAS_CHECK(builder.add_file(path, std::move(content), file->mode));
      } else {
        XAAS_CHECK(builder.add_file(path, content, file->mode));
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
    for (const TargetFiles& side : sides_)
      names.push_back(side.directory);
    made.annotations[image::annotation::targets] = join(names, ",");
    made.config.labels[image::annotation::targets] = made.annotations.at(image::annotation::targets);
    std::set<Digest> known;
    for (const TreeTarget& target : targets_)
      for (size_t i = 0; i < target.image->manifest().layers.size(); ++i) {
        const oci::Descriptor& layer = target.image->manifest().layers[i];
        if (image::layer_role(layer) == application_role || !known.insert(layer.digest).second)
          continue;
        made.layers.push_back(oci::layer_of(*target.image, i));
      }
    made.layers.push_back(std::move(application));
    return made;
  }

  const std::vector<TreeTarget>& targets_;
  std::string arch_;
  std::vector<TargetFiles> sides_; // as `targets_`
  Contents contents_;
  const TargetFile* launcher_ = nullptr;
  std::list<TargetFile> made_;
  std::map<std::string, const TargetFile*> tree_;
  std::vector<std::string> common_; // files that differ, of which all targets have that of the weakest
};

} // namespace

Result<oci::NewImage> target_tree(const std::vector<TreeTarget>& targets,
                                  std::set<image::Warning>& warnings) {
  return TargetTree(targets).make(warnings);
}

} // namespace xaas::deploy
