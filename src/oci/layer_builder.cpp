#include "compression.h"
#include "tar_writer.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>
#include <xaas/oci/layer.h>

#include <vector>

namespace xaas::oci {

namespace {

Result<void> check_path(const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return make_error(ErrorKind::usage, "adding '" + path + "' to a layer: " + why);
  };
  if (path.empty() || path.front() == '/' || path.back() == '/' || path.find('\0') != std::string::npos)
    return refused("a path in a layer must be relative and end in a name");
  for (const std::string& part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..")
      return refused("the path is not normalized");
    if (starts_with(part, ".wh."))
      return refused("'" + part + "' would remove a file of the layers below when the image is unpacked");
  }
  return {};
}

// All parent directories of `path`, outermost first.
std::vector<std::string> parents_of(const std::string& path) {
  std::vector<std::string> parents;
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    parents.push_back(path.substr(0, slash));
  return parents;
}

} // namespace

Result<void> LayerBuilder::add(const std::string& path, Entry entry) {
  XAAS_CHECK(check_path(path));
  for (const std::string& parent : parents_of(path))
    if (const auto found = entries_.find(parent);
        found != entries_.end() && found->second.kind != Entry::Kind::directory)
      return make_error(ErrorKind::failed,
                        "adding '" + path + "' to a layer: '" + parent + "' is not a directory");
  if (entry.kind != Entry::Kind::directory)
    if (const auto below = entries_.lower_bound(path + "/");
        below != entries_.end() && starts_with(below->first, path + "/"))
      return make_error(ErrorKind::failed, "adding '" + path + "' to a layer: it must be a directory, for '" +
                                               below->first + "'");
  const auto [place, added] = entries_.try_emplace(path, std::move(entry));
  if (added)
    return {};
  // If try_emplace() adds nothing, it leaves `entry` as it was.
  if (entry.kind != Entry::Kind::directory || place->second.kind != Entry::Kind::directory)
    return make_error(ErrorKind::failed, "adding '" + path + "' to a layer: it was added before");
  place->second.mode |= entry.mode;
  return {};
}

Result<void> LayerBuilder::add_file(const std::string& path, std::string content, unsigned mode) {
  return add(path, {Entry::Kind::file, mode, std::move(content)});
}

Result<void> LayerBuilder::add_hard_link(const std::string& path, const std::string& to) {
  const auto file = entries_.find(to);
  if (file == entries_.end() || file->second.kind != Entry::Kind::file || !(to < path))
    return make_error(ErrorKind::failed, "adding '" + path + "' to a layer: it is a hard link to '" + to +
                                             "', which is not a file before it");
  return add(path, {Entry::Kind::hard_link, file->second.mode, to});
}

Result<void> LayerBuilder::add_symlink(const std::string& path, const std::string& destination) {
  if (destination.empty() || destination.find('\0') != std::string::npos)
    return make_error(ErrorKind::usage,
                      "adding the symlink '" + path + "' to a layer: it has no valid destination");
  return add(path, {Entry::Kind::symlink, 0777, destination});
}

Result<void> LayerBuilder::add_directory(const std::string& path, unsigned mode) {
  return add(path, {Entry::Kind::directory, mode, {}});
}

Result<void> LayerBuilder::write_tar(const std::function<Result<void>(std::string_view)>& write) const {
  const Entry implied{Entry::Kind::directory, 0755, {}};
  std::map<std::string, const Entry*> all;
  for (const auto& [path, entry] : entries_) {
    for (const std::string& parent : parents_of(path))
      all.try_emplace(parent, &implied);
    all[path] = &entry;
  }
  for (const auto& [path, entry] : all) {
    TarMember member{.path = path, .mode = entry->mode, .time = time_};
    const bool is_file = entry->kind == Entry::Kind::file;
    if (is_file)
      member.size = entry->content.size();
    else if (entry->kind == Entry::Kind::symlink)
      member.type = TarMember::Type::symlink, member.link = entry->content;
    else if (entry->kind == Entry::Kind::hard_link)
      member.type = TarMember::Type::hard_link, member.link = entry->content;
    else
      member.type = TarMember::Type::directory;
    if (const auto kept = below_.find(path);
        member.type == TarMember::Type::directory && kept != below_.end())
      member.mode = kept->second.mode, member.user = kept->second.user, member.group = kept->second.group;
    XAAS_CHECK(write(tar_header(member)));
    if (is_file) {
      XAAS_CHECK(write(entry->content));
      XAAS_CHECK(write(tar_padding(member.size)));
    }
  }
  return write(tar_end());
}

Result<NewLayer> LayerBuilder::finish(Compression compression, const std::string& created_by,
                                      std::map<std::string, std::string> annotations,
                                      const CompressedLayers* known) const {
  trace::Span span("layer", created_by);
  Hasher hasher;
  XAAS_CHECK(write_tar([&](std::string_view data) {
    hasher.update(data);
    return Result<void>();
  }));
  NewLayer layer;
  layer.diff_id = hasher.finish();
  layer.created_by = created_by;
  std::optional<std::string> compressed = known ? known->find(compression, layer.diff_id) : std::nullopt;
  if (known)
    span.set("cache", compressed ? "hit" : "miss");
  if (!compressed) {
    XAAS_TRY(const std::unique_ptr<Compressor> compressor, make_compressor(compression));
    XAAS_CHECK(write_tar([&](std::string_view data) { return compressor->write(data); }));
    XAAS_TRY(compressed, compressor->finish());
    if (known)
      known->keep(compression, layer.diff_id, *compressed);
  }
  layer.descriptor = {compression == Compression::gzip ? media_type::layer_gzip : media_type::layer_zstd,
                      digest_of(*compressed), compressed->size(), std::move(annotations)};
  span.set("bytes", compressed->size());
  layer.open = [blob = blob_of(*std::move(compressed))]() -> Result<BlobPtr> { return blob; };
  return layer;
}

Result<NewLayer> layer_of_tar(const fs::path& tar, const fs::path& compressed, Compression compression,
                              const std::string& created_by) {
  XAAS_TRY(const BlobPtr blob, blob_in_file(tar));
  XAAS_TRY(const std::unique_ptr<Compressor> compressor, make_compressor(compression));
  XAAS_TRY(FileWriter file, FileWriter::create(compressed));
  Hasher plain, stored;
  uint64_t size = 0;
  const auto keep = [&](const std::string& bytes) {
    stored.update(bytes);
    size += bytes.size();
    return file.write(bytes);
  };
  std::vector<char> buffer(1 << 20);
  for (uint64_t at = 0; at < blob->size();) {
    XAAS_CHECK(check_interrupt());
    XAAS_TRY(const size_t count, blob->read(at, buffer.data(), buffer.size()));
    if (count == 0)
      return make_error(ErrorKind::failed, tar.string() + ": became shorter while it was read");
    const std::string_view piece(buffer.data(), count);
    plain.update(piece);
    XAAS_CHECK(compressor->write(piece));
    XAAS_CHECK(keep(compressor->take()));
    at += count;
  }
  XAAS_TRY(const std::string rest, compressor->finish());
  XAAS_CHECK(keep(rest));
  XAAS_CHECK(file.commit(false));
  NewLayer layer;
  layer.diff_id = plain.finish();
  layer.created_by = created_by;
  layer.descriptor = {compression == Compression::gzip ? media_type::layer_gzip : media_type::layer_zstd,
                      stored.finish(),
                      size,
                      {}};
  layer.open = [compressed] { return blob_in_file(compressed); };
  return layer;
}

} // namespace xaas::oci
