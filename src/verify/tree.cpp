#include "tree.h"

#include <xaas/base/file.h>
#include <xaas/link/note.h>

namespace xaas::verify {

namespace {

constexpr const char* whiteout = ".wh.";
constexpr const char* opaque = ".wh..wh..opq"; // OCI image specification, layer.md, "Whiteouts"

} // namespace

void Tree::remove(const std::string& path) {
  const auto drop = [&](auto& map) {
    map.erase(path);
    const std::string below = path + "/";
    for (auto at = map.lower_bound(below); at != map.end() && at->first.starts_with(below);)
      at = map.erase(at);
  };
  drop(entries_);
  drop(programs_);
}

void Tree::add(oci::LayerEntry entry) {
  const std::string path = "/" + entry.path;
  const fs::path name = fs::path(path).filename();
  const std::string parent = fs::path(path).parent_path();
  if (name == opaque)
    return remove(parent);
  if (name.string().starts_with(whiteout))
    return remove((fs::path(parent) / name.string().substr(4)).string());
  switch (entry.kind) {
  case oci::LayerEntry::Kind::directory:
    if (const auto found = entries_.find(path);
        found == entries_.end() || found->second.kind != Kind::symlink)
      entries_[path] = {Kind::directory, {}};
    break;
  case oci::LayerEntry::Kind::symlink:
    remove(path);
    entries_[path] = {Kind::symlink, entry.link};
    break;
  case oci::LayerEntry::Kind::hard_link:
    remove(path);
    entries_[path] = {Kind::symlink, "/" + entry.link};
    break;
  case oci::LayerEntry::Kind::file: {
    // Through a symlinked directory of an earlier layer (merged /usr) the file is elsewhere.
    const std::string directory = resolve(parent);
    const std::string place = directory.empty() ? path : (fs::path(directory) / name).string();
    remove(place);
    entries_[place] = {Kind::file, {}};
    constexpr size_t class_at = 4, data_at = 5;
    if (link::is_elf(entry.content) && entry.content.size() > 64 && entry.content[class_at] == 2 &&
        entry.content[data_at] == 1)
      programs_[place] = std::move(entry.content);
    break;
  }
  case oci::LayerEntry::Kind::other:
    break;
  }
}

Result<Tree> Tree::read(const oci::Image& image) {
  Tree tree;
  tree.entries_["/"] = {Kind::directory, {}};
  const auto& layers = image.manifest().layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    XAAS_TRY(const std::string blob, image.blob(layers[i]));
    const Digest* const diff_id = i < image.config().diff_ids.size() ? &image.config().diff_ids[i] : nullptr;
    XAAS_CHECK(
        oci::read_layer(blob, layers[i].media_type, diff_id, [&](oci::LayerEntry entry) -> Result<void> {
          tree.add(std::move(entry));
          return {};
        }).in("layer " + layers[i].digest.to_string()));
  }
  return tree;
}

std::string Tree::resolve(const std::string& path) const {
  fs::path at = "/";
  std::vector<std::string> left;
  const auto push = [&left](const fs::path& more) {
    const std::vector<fs::path> parts(more.begin(), more.end());
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      if (!part->empty() && *part != "/" && *part != ".")
        left.push_back(*part);
  };
  push(path);
  int links = 0;
  while (!left.empty()) {
    const std::string part = left.back();
    left.pop_back();
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    at /= part;
    const auto found = entries_.find(at);
    if (found == entries_.end())
      return {};
    if (found->second.kind != Kind::symlink)
      continue;
    if (++links > 40) // as Linux
      return {};
    const fs::path destination = found->second.destination;
    at = destination.is_absolute() ? fs::path("/") : at.parent_path();
    push(destination);
  }
  return at;
}

} // namespace xaas::verify
