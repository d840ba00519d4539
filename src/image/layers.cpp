// The layers of an IR image, and of a source image.
//
// Contents are grouped by the set of configurations that use them, so that deploying one configuration reads
// only what it uses. The number of groups is limited, because runtimes and registries limit the number of
// layers. The two smallest groups are merged until the limit holds: this costs the fewest bytes that a
// configuration reads in vain.
#include <xaas/base/utf8.h>
#include <xaas/image/application_image.h>
#include <xaas/ir/packed.h>
#include <xaas/oci/layer.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::image {

namespace {

using Users = std::set<size_t>; // indices of configurations
using FileKind = link::InstalledFile::Kind;

template <typename Item> struct Group {
  Users users;
  std::vector<Item> items;
  uint64_t bytes = 0;
};

template <typename Item> void merge_smallest(std::vector<Group<Item>>& groups, size_t limit) {
  auto smaller = [](const auto& a, const auto& b) {
    return std::tie(a.bytes, a.users) < std::tie(b.bytes, b.users);
  };
  while (groups.size() > limit) {
    std::sort(groups.begin(), groups.end(), smaller);
    Group<Item> first = std::move(groups.front());
    groups.erase(groups.begin());
    groups.front().users.insert(first.users.begin(), first.users.end());
    groups.front().items.insert(groups.front().items.end(), first.items.begin(), first.items.end());
    groups.front().bytes += first.bytes;
  }
  // The most widely shared first, then by name: an order that depends only on the content.
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.users.size() != b.users.size() ? a.users.size() > b.users.size() : a.users < b.users;
  });
}

template <typename Item>
Result<std::vector<Group<Item>>> group(const std::map<Item, Users>& users,
                                       const std::function<Result<uint64_t>(const Item&)>& bytes,
                                       size_t limit) {
  std::map<Users, Group<Item>> by_users;
  for (const auto& [item, set] : users) {
    Group<Item>& each = by_users[set];
    each.users = set;
    each.items.push_back(item);
  }
  std::vector<Group<Item>> groups;
  for (auto& [set, each] : by_users)
    groups.push_back(std::move(each));
  // Only merging groups asks for sizes, and some of them are known only after reading files.
  if (groups.size() > limit)
    for (Group<Item>& each : groups)
      for (const Item& item : each.items) {
        XAAS_TRY(const uint64_t size, bytes(item));
        each.bytes += size;
      }
  merge_smallest(groups, limit);
  return groups;
}

// The ids of the configurations that are built from source, in the form of an annotation. One that also has
// IR is listed once.
Json source_configurations(const Bundle& bundle) {
  Json ids = Json::array();
  if (bundle.source_build)
    for (const spec::Configuration& configuration : bundle.source_build->configurations)
      if (!find_ir(bundle, configuration))
        ids.push_back(configuration.id());
  return ids;
}

class LayerMaker {
public:
  LayerMaker(const Bundle& bundle, const ContentProvider& content, int64_t time)
      : bundle_(bundle), content_(content), time_(time),
        directories_(bundle.base ? bundle.base->directories : oci::Directories()) {}

  std::map<std::string, std::string> annotations(const std::string& role, const Users& users) const {
    Json ids = Json::array();
    for (const size_t user : users)
      ids.push_back(bundle_.configurations[user].configuration.id());
    if (role == "metadata" || role == base_role)
      for (Json& id : source_configurations(bundle_))
        ids.push_back(std::move(id));
    return {{annotation::role, role}, {annotation::configurations, ids.dump()}};
  }

  Result<oci::NewLayer> contents(const std::string& role, const std::string& directory, const Users& users,
                                 const std::vector<Digest>& digests) const {
    oci::LayerBuilder builder(time_);
    for (const Digest& digest : digests) {
      XAAS_TRY(std::string bytes, content_(digest));
      if (role == "ir") {
        if (ir::is_packed(bytes))
          return make_error(ErrorKind::failed, "module " + digest.to_string() + " is no bitcode");
        if (std::optional<std::string> packed = ir::pack(bytes))
          bytes = *std::move(packed);
      }
      XAAS_CHECK(builder.add_file(".xaas/" + directory + "/sha256/" + digest.hex(), std::move(bytes)));
    }
    return builder.finish(oci::Compression::zstd, "xaas build: " + role, annotations(role, users));
  }

  Result<oci::NewLayer> runtime(const Users& users, const std::vector<std::string>& paths,
                                const std::map<std::string, link::InstalledFile>& files) const {
    oci::LayerBuilder builder(time_, directories_);
    for (const std::string& path : paths) {
      const link::InstalledFile& file = files.at(path);
      if (file.kind == FileKind::directory) {
        XAAS_CHECK(builder.add_directory(file.path, file.mode));
      } else if (file.kind == FileKind::symlink) {
        XAAS_CHECK(builder.add_symlink(file.path, file.destination));
      } else {
        XAAS_TRY(std::string bytes, content_(file.digest));
        XAAS_CHECK(builder.add_file(file.path, std::move(bytes), file.mode));
      }
    }
    return builder.finish(oci::Compression::gzip, "xaas build: runtime", annotations("runtime", users));
  }

  Result<oci::NewLayer> metadata(const Users& users) const {
    oci::LayerBuilder builder(time_);
    XAAS_TRY(const std::string text, json_text(to_json(bundle_), "the image's metadata"));
    XAAS_CHECK(builder.add_file(".xaas/bundle.json", text + "\n"));
    return builder.finish(oci::Compression::zstd, "xaas build: metadata", annotations("metadata", users));
  }

private:
  const Bundle& bundle_;
  const ContentProvider& content_;
  int64_t time_;
  oci::Directories directories_; // of the base
};

struct Inventory {
  std::map<Digest, Users> modules, tree;
  std::map<std::string, Users> runtime; // by path
  std::map<std::string, link::InstalledFile> runtime_files;
  std::set<Digest> kit; // without files in the closure of the configuration that needs them
  Users all;
};

Result<Inventory> take_inventory(const Bundle& bundle) {
  Inventory inventory;
  for (size_t i = 0; i < bundle.configurations.size(); ++i) {
    const BundleConfiguration& configuration = bundle.configurations[i];
    XAAS_TRY(const Usage usage, usage_of(bundle, configuration));
    inventory.all.insert(i);
    std::set<Digest> in_closure;
    for (const Digest& module : usage.modules)
      inventory.modules[module].insert(i);
    for (const Digest& file : usage.tree)
      inventory.tree[file].insert(i);
    for (const link::InstalledFile& file : configuration.runtime) {
      const auto [entry, added] = inventory.runtime_files.emplace(file.path, file);
      if (!added && link::to_json(entry->second) != link::to_json(file))
        return make_error(ErrorKind::failed,
                          "run-time file /" + file.path + " differs between configurations");
      inventory.runtime[file.path].insert(i);
      in_closure.insert(file.digest);
    }
    std::set_difference(usage.kit.begin(), usage.kit.end(), in_closure.begin(), in_closure.end(),
                        std::inserter(inventory.kit, inventory.kit.end()));
  }
  return inventory;
}

// The configuration and annotations.
void describe(const Bundle& bundle, const std::optional<SourceLayers>& source, int64_t time,
              oci::NewImage& image) {
  image.config.architecture = target::oci_architecture(bundle.arch);
  image.config.created = rfc3339(time);
  image.annotations = {{annotation::kind, bundle.configurations.empty() ? "source" : "ir"},
                       {annotation::format, std::to_string(format_of(bundle))},
                       {annotation::tool, bundle.tool},
                       {annotation::created, image.config.created}};
  if (bundle.base)
    image.annotations.merge(base_annotations(*bundle.base));
  if (!bundle.llvm.empty())
    image.annotations[annotation::llvm] = bundle.llvm;
  if (bundle.source_build && !bundle.source_build->application.toolchain.path.empty())
    image.config.env = {"PATH=" + bundle.source_build->application.toolchain.path};
  image.annotations.merge(application_annotations(bundle));
  if (source)
    image.annotations.insert(source->annotations.begin(), source->annotations.end());
  image.config.labels = image.annotations;
}

} // namespace

Result<oci::NewImage> make_application_image(const Bundle& bundle, const ContentProvider& content,
                                             int64_t time, size_t max_groups,
                                             std::optional<SourceLayers> source,
                                             std::vector<oci::NewLayer> base) {
  XAAS_TRY(const Inventory inventory, take_inventory(bundle));
  const LayerMaker maker(bundle, content, time);
  oci::NewImage image;
  auto add = [&](Result<oci::NewLayer> layer) -> Result<void> {
    if (!layer)
      return std::move(layer).error();
    image.layers.push_back(*std::move(layer));
    return {};
  };
  for (oci::NewLayer& layer : base) {
    layer.descriptor.annotations = maker.annotations(base_role, inventory.all);
    XAAS_CHECK(add(std::move(layer)));
  }
  const Json built_from_source = source_configurations(bundle);
  if (source)
    for (oci::NewLayer& layer : source->base) {
      layer.descriptor.annotations = {{annotation::role, "base"},
                                      {annotation::configurations, built_from_source.dump()}};
      XAAS_CHECK(add(std::move(layer)));
    }
  const std::function<Result<uint64_t>(const Digest&)> content_bytes =
      [&](const Digest& digest) -> Result<uint64_t> {
    XAAS_TRY(const std::string bytes, content(digest));
    return bytes.size();
  };
  const std::function<Result<uint64_t>(const std::string&)> runtime_bytes =
      [&](const std::string& path) -> Result<uint64_t> {
    const link::InstalledFile& file = inventory.runtime_files.at(path);
    if (file.kind == FileKind::directory || file.kind == FileKind::symlink)
      return uint64_t(0);
    return content_bytes(file.digest);
  };
  XAAS_TRY(const auto runtime, group(inventory.runtime, runtime_bytes, max_groups));
  for (const auto& each : runtime)
    XAAS_CHECK(add(maker.runtime(each.users, each.items, inventory.runtime_files)));
  XAAS_CHECK(add(maker.metadata(inventory.all)));
  if (!inventory.kit.empty())
    XAAS_CHECK(
        add(maker.contents("kit", "kit", inventory.all, {inventory.kit.begin(), inventory.kit.end()})));
  const std::function<Result<uint64_t>(const Digest&)> module_bytes = [&](const Digest& digest) {
    return Result<uint64_t>(bundle.modules.at(digest));
  };
  XAAS_TRY(const auto modules, group(inventory.modules, module_bytes, max_groups));
  for (const auto& each : modules)
    XAAS_CHECK(add(maker.contents("ir", "ir", each.users, each.items)));
  XAAS_TRY(const auto tree, group(inventory.tree, content_bytes, max_groups));
  for (const auto& each : tree)
    XAAS_CHECK(add(maker.contents("tree", "tree", each.users, each.items)));
  if (source) {
    source->source.descriptor.annotations = {{annotation::role, "source"},
                                             {annotation::configurations, built_from_source.dump()}};
    XAAS_CHECK(add(std::move(source->source)));
  }

  describe(bundle, source, time, image);
  return image;
}

} // namespace xaas::image
