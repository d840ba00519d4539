#include "tree.h"

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/link/note.h>

namespace xaas::verify {

namespace {

constexpr const char* whiteout = ".wh.";
constexpr const char* opaque = ".wh..wh..opq"; // OCI image specification, layer.md, "Whiteouts"

} // namespace

void Tree::remove(const std::string& path, size_t layer, bool only_below) {
  const std::string below = path == "/" ? path : path + "/";
  for (auto at = entries_.lower_bound(path); at != entries_.end() && at->first.starts_with(path);) {
    const bool is_meant = at->first == path ? !only_below : at->first.starts_with(below);
    if (is_meant && at->second.layer < layer) {
      programs_.erase(at->first);
      scripts_.erase(at->first);
      at = entries_.erase(at);
    } else {
      ++at;
    }
  }
}

std::string Tree::place(const std::string& path, size_t layer) {
  fs::path at = "/";
  for (const fs::path& part : fs::path(path).parent_path().relative_path()) {
    const std::string there = resolve(at / part);
    if (there.empty()) {
      at /= part;
      entries_.try_emplace(at, Entry{Kind::directory, {}, layer}); // a link that leads nowhere stays
    } else {
      at = there;
    }
  }
  return at / fs::path(path).filename();
}

void Tree::add(oci::LayerEntry entry, size_t layer) {
  const std::string path = place("/" + entry.path, layer);
  const std::string name = fs::path(path).filename();
  const fs::path parent = fs::path(path).parent_path();
  if (name == opaque)
    return remove(parent, layer, true);
  if (name.starts_with(whiteout))
    return remove(parent / name.substr(4), layer, false);
  if (entry.kind == oci::LayerEntry::Kind::directory) {
    if (const auto found = entries_.find(path); found == entries_.end() || found->second.kind == Kind::file)
      entries_[path] = {Kind::directory, {}, layer};
    return;
  }
  programs_.erase(path);
  scripts_.erase(path);
  switch (entry.kind) {
  case oci::LayerEntry::Kind::symlink:
    entries_[path] = {Kind::symlink, entry.link, layer};
    break;
  case oci::LayerEntry::Kind::hard_link:
    entries_[path] = {Kind::file, {}, layer};
    if (const auto found = programs_.find(resolve("/" + entry.link)); found != programs_.end())
      programs_[path] = found->second;
    break;
  case oci::LayerEntry::Kind::file: {
    entries_[path] = {Kind::file, {}, layer};
    constexpr size_t class_at = 4, data_at = 5;
    if (link::is_elf(entry.content) && entry.content.size() > 64 && entry.content[class_at] == 2 &&
        entry.content[data_at] == 1)
      programs_[path] = std::move(entry.content);
    else if (entry.content.starts_with("#!"))
      scripts_[path] = trim(entry.content.substr(2, entry.content.find('\n') - 2));
    break;
  }
  default:
    break;
  }
}

Result<Tree> Tree::read(const oci::Image& image) {
  Tree tree;
  tree.entries_["/"] = {Kind::directory, {}, 0};
  const auto& layers = image.manifest().layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    XAAS_TRY(const std::string blob, image.blob(layers[i]));
    const Digest* const diff_id = i < image.config().diff_ids.size() ? &image.config().diff_ids[i] : nullptr;
    const auto add = [&](oci::LayerEntry entry) -> Result<void> {
      tree.add(std::move(entry), i + 1);
      return {};
    };
    // A file is read whole, and programs stay.
    XAAS_CHECK(oci::read_layer(blob, layers[i].media_type, diff_id, add, memory_limit() / 2)
                   .in("layer " + layers[i].digest.to_string()));
  }
  return tree;
}

std::string Tree::interpreter(const std::string& path) const {
  const auto found = scripts_.find(path);
  return found == scripts_.end() ? std::string() : found->second;
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
