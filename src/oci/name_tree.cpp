#include <xaas/oci/name_tree.h>

#include <vector>

namespace xaas::oci {

// Removes what lower layers have at a path and below it.
void NameTree::remove(const std::string& path, bool only_below, const Gone& gone) {
  const std::string below = path == "/" ? path : path + "/";
  for (auto at = entries_.lower_bound(path); at != entries_.end() && at->first.starts_with(path);) {
    const bool is_meant = at->first == path ? !only_below : at->first.starts_with(below);
    if (is_meant && at->second.layer < layer_) {
      if (gone)
        gone(at->first);
      at = entries_.erase(at);
    } else {
      ++at;
    }
  }
}

std::string NameTree::place(const std::string& path) const {
  fs::path at = "/";
  for (const fs::path& part : fs::path(path).parent_path().relative_path()) {
    const std::string there = resolve(at / part);
    at = there.empty() ? at / part : fs::path(there);
  }
  return at / fs::path(path).filename();
}

// Creates missing directories.
std::string NameTree::make_place(const std::string& path) {
  const fs::path place = this->place(path);
  fs::path at = "/";
  for (const fs::path& part : place.parent_path().relative_path()) {
    at /= part;
    entries_.try_emplace(at, Entry{Kind::directory, {}, false, layer_}); // keeps a dangling link
  }
  return place;
}

std::string NameTree::add(const LayerEntry& entry, const Gone& gone) {
  const std::string path = make_place("/" + entry.path);
  const std::string name = fs::path(path).filename();
  const fs::path parent = fs::path(path).parent_path();
  if (name == opaque_whiteout) {
    remove(parent, true, gone);
    return {};
  }
  if (name.starts_with(whiteout_prefix)) {
    remove(parent / name.substr(whiteout_prefix.size()), false, gone);
    return {};
  }
  Entry* const there = entries_.contains(path) ? &entries_.at(path) : nullptr;
  const Directory directory{entry.mode, entry.user, entry.group};
  if (entry.kind == LayerEntry::Kind::directory && there && there->kind == Kind::directory) {
    there->directory = directory;
    there->layer = layer_; // a whiteout of this layer does not mean it
    return path;
  }
  if (there && gone)
    gone(path);
  switch (entry.kind) {
  case LayerEntry::Kind::directory:
    entries_[path] = {Kind::directory, {}, false, layer_, directory};
    return path;
  case LayerEntry::Kind::symlink:
    entries_[path] = {Kind::symlink, entry.link, false, layer_};
    return path;
  case LayerEntry::Kind::hard_link: {
    const Entry* const linked = find(resolve("/" + entry.link));
    entries_[path] = {Kind::file, {}, linked && linked->runs, layer_};
    return path;
  }
  case LayerEntry::Kind::file:
    entries_[path] = {Kind::file, {}, (entry.mode & 0100) != 0, layer_};
    return path;
  case LayerEntry::Kind::other:
    break;
  }
  return {};
}

const NameTree::Entry* NameTree::find(const std::string& path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string NameTree::resolve(const std::string& path) const {
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
    const Entry* const found = find(at);
    if (!found)
      return {};
    if (found->kind != Kind::symlink)
      continue;
    if (++links > 40) // as in Linux
      return {};
    const fs::path destination = found->destination;
    at = destination.is_absolute() ? fs::path("/") : at.parent_path();
    push(destination);
  }
  return at;
}

} // namespace xaas::oci
