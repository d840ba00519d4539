#include "tree.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/link/note.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace xaas::verify {

namespace {

constexpr size_t script_line = 256; // BINPRM_BUF_SIZE of Linux: more of the first line it does not read

bool is_program(std::string_view content) {
  constexpr size_t class_at = 4, data_at = 5;
  return link::is_elf(content) && content.size() > 64 && content[class_at] == 2 && content[data_at] == 1;
}

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

Result<void> Tree::add(oci::LayerEntry& entry, oci::LayerContent& content, size_t layer) {
  const std::string path = place("/" + entry.path, layer);
  const std::string name = fs::path(path).filename();
  const fs::path parent = fs::path(path).parent_path();
  if (name == oci::opaque_whiteout) {
    remove(parent, layer, true);
    return {};
  }
  if (name.starts_with(oci::whiteout_prefix)) {
    remove(parent / name.substr(oci::whiteout_prefix.size()), layer, false);
    return {};
  }
  if (entry.kind == oci::LayerEntry::Kind::directory) {
    if (const auto found = entries_.find(path); found == entries_.end() || found->second.kind == Kind::file)
      entries_[path] = {Kind::directory, {}, layer};
    return {};
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
  case oci::LayerEntry::Kind::file:
    return add_file(path, content, layer);
  default:
    break;
  }
  return {};
}

Result<void> Tree::add_file(const std::string& path, oci::LayerContent& content, size_t layer) {
  entries_[path] = {Kind::file, {}, layer};
  XAAS_TRY(std::string_view piece, content.next());
  if (piece.starts_with("#!"))
    scripts_[path] = trim(std::string(piece.substr(2, std::min(piece.find('\n'), script_line) - 2)));
  if (!is_program(piece))
    return {};
  const fs::path kept = directory_.path() / std::to_string(kept_++); // a hard link may have the old one
  std::ofstream stream(kept, std::ios::binary);
  while (!piece.empty()) {
    stream.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    XAAS_TRY(piece, content.next());
  }
  stream.close();
  if (!stream)
    return errno_error(errno, "writing " + kept.string());
  programs_[path] = kept;
  return {};
}

Result<Tree> Tree::read(const oci::Image& image) {
  XAAS_TRY(TemporaryDirectory directory, TemporaryDirectory::create());
  Tree tree(std::move(directory));
  tree.entries_["/"] = {Kind::directory, {}, 0};
  const auto& layers = image.manifest().layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    XAAS_TRY(const oci::BlobPtr blob, image.open_blob(layers[i]));
    const Digest* const diff_id = &image.config().diff_ids[i];
    const auto add = [&](oci::LayerEntry& entry, oci::LayerContent& content) {
      return tree.add(entry, content, i + 1);
    };
    XAAS_CHECK(oci::stream_layer(blob, layers[i].media_type, diff_id, oci::layer_limit, add)
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
