#include "tree.h"

#include <xaas/base/file.h>
#include <xaas/base/text.h>
#include <xaas/image/application_image.h>
#include <xaas/link/note.h>
#include <xaas/loader/c_library.h>
#include <xaas/loader/directories.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace xaas::check {

namespace {

constexpr const char* cache_path = "/etc/ld.so.cache";
constexpr size_t script_line = 256; // BINPRM_BUF_SIZE: Linux reads no more of the first line

bool is_program(std::string_view content) {
  constexpr size_t class_at = 4, data_at = 5;
  return link::is_elf(content) && content.size() > 64 && content[class_at] == 2 && content[data_at] == 1;
}

} // namespace

Result<void> Tree::add(oci::LayerEntry& entry, oci::LayerContent& content) {
  const std::string path = names_.add(entry, [&](const std::string& gone) {
    programs_.erase(gone);
    scripts_.erase(gone);
    others_.erase(gone);
    if (gone == cache_path)
      loader_cache_.clear();
  });
  if (path.empty())
    return {};
  if (entry.kind == oci::LayerEntry::Kind::hard_link) {
    if (const auto found = programs_.find(resolve("/" + entry.link)); found != programs_.end())
      programs_[path] = found->second;
    else if (others_.count(resolve("/" + entry.link)))
      others_.insert(path);
  } else if (entry.kind == oci::LayerEntry::Kind::file) {
    return add_file(path, content);
  }
  return {};
}

bool Tree::is_of_base(const std::string& path) const {
  const oci::NameTree::Entry* const entry = names_.find(path);
  return entry && layers_of_base_.contains(entry->layer);
}

Result<void> Tree::add_file(const std::string& path, oci::LayerContent& content) {
  XAAS_TRY(std::string_view piece, content.next());
  if (path == cache_path) {
    for (loader_cache_.clear(); !piece.empty();) {
      loader_cache_ += piece;
      if (loader_cache_.size() > loader::largest_cache)
        return make_error(ErrorKind::integrity, path + ": is larger than any cache of a loader");
      XAAS_TRY(piece, content.next());
    }
    return {};
  }
  if (piece.starts_with("#!"))
    scripts_[path] = trim(std::string(piece.substr(2, std::min(piece.find('\n'), script_line) - 2)));
  if (!is_program(piece)) {
    if (link::is_elf(piece))
      others_.insert(path);
    return {};
  }
  const fs::path kept = directory_.path() / std::to_string(kept_++); // a hard link may use the old file
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
  const auto& layers = image.manifest().layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    XAAS_TRY(const oci::BlobPtr blob, image.open_blob(layers[i]));
    const Digest* const diff_id = &image.config().diff_ids[i];
    tree.names_.start_layer();
    if (image::layer_role(layers[i]) == image::base_role)
      tree.layers_of_base_.insert(i + 1); // the first layer has the number 1
    const auto add = [&](oci::LayerEntry& entry, oci::LayerContent& content) {
      return tree.add(entry, content);
    };
    XAAS_CHECK(oci::stream_layer(blob, layers[i].media_type, diff_id, oci::layer_limit, add)
                   .in("layer " + layers[i].digest.to_string()));
  }
  return tree;
}

Result<std::string> Tree::loader(const std::string& arch) const {
  const auto found = programs_.find(resolve(loader::loader_path(arch)));
  return found == programs_.end() ? Result<std::string>(std::string()) : read_file(found->second);
}

std::string Tree::interpreter(const std::string& path) const {
  const auto found = scripts_.find(path);
  return found == scripts_.end() ? std::string() : found->second;
}

} // namespace xaas::check
