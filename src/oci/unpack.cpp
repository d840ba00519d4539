// Unpacks layers, or an archive, into a directory. The tree is created in a temporary directory beside its
// destination and renamed at the end, so a refused image leaves nothing behind, and a killed run at most a
// directory `.xaas-tmp-*`.
#include "archive_reader.h"
#include "rooted_tree.h"

#include <xaas/base/child.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/umask.h>
#include <xaas/oci/archive.h>
#include <xaas/oci/layer.h>

#include <cerrno>
#include <cstdio>
#include <numeric>
#include <sys/stat.h>

namespace xaas::oci {

namespace {

constexpr uint64_t unpack_limit = layer_limit; // all layers together

// The remaining number of bytes that may be written.
struct Budget {
  uint64_t limit, left = limit;
};

Result<void> write_content(int file, LayerContent& content, const std::string& path, Budget& budget) {
  while (true) {
    XAAS_CHECK(check_interrupt());
    XAAS_TRY(std::string_view piece, content.next());
    if (piece.empty())
      return {};
    if (piece.size() > budget.left)
      return make_error(ErrorKind::integrity, "'" + path + "': with it, what is unpacked has more than " +
                                                  std::to_string(budget.limit) + " bytes");
    budget.left -= piece.size();
    while (!piece.empty()) {
      const ssize_t count = ::write(file, piece.data(), piece.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return errno_error(errno, "unpacking '" + path + "'");
      piece.remove_prefix(static_cast<size_t>(count));
    }
  }
}

Result<void> apply_whiteout(RootedTree& tree, const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string prefix(whiteout_prefix);
  // Other names with this prefix are internal to union file systems.
  if (name != opaque_whiteout && starts_with(name, prefix + prefix))
    return {};
  XAAS_TRY(RootedTree::Place place, tree.locate(path, true));
  // Checked again, because a symlink may have led here.
  if (place.parent == ".xaas" || starts_with(place.parent, ".xaas/"))
    return make_error(ErrorKind::integrity, "the whiteout '" + path + "' removes /.xaas");
  if (name == opaque_whiteout)
    return place.parent.empty()
               ? make_error(ErrorKind::integrity, "the whiteout '" + path + "' removes /.xaas")
               : tree.hide_siblings(place);
  place.name = name.substr(prefix.size());
  if (place.path() == ".xaas")
    return make_error(ErrorKind::integrity, "the whiteout '" + path + "' removes /.xaas");
  return tree.hide(place);
}

Result<void> make_entry(RootedTree& tree, const LayerEntry& entry, LayerContent& content, Budget& budget) {
  XAAS_CHECK(check_interrupt());
  XAAS_TRY(const RootedTree::Place place, tree.locate(entry.path, true));
  switch (entry.kind) {
  case LayerEntry::Kind::directory:
    return tree.make_directory(place, entry.mode);
  case LayerEntry::Kind::symlink:
    return tree.make_symlink(place, entry.link);
  case LayerEntry::Kind::hard_link: {
    XAAS_TRY(const RootedTree::Place from, tree.locate(entry.link, false));
    return tree.make_hard_link(from, place);
  }
  case LayerEntry::Kind::file: {
    XAAS_TRY(const FileDescriptor file, tree.create_file(place));
    XAAS_CHECK(write_content(file.get(), content, entry.path, budget));
    // Keeps file times for make: generated files must not become older than their sources.
    const timespec times[2] = {{0, UTIME_OMIT}, {entry.time, 0}};
    if (fchmod(file.get(), entry.mode & 0777) != 0 || futimens(file.get(), times) != 0)
      return errno_error(errno, "unpacking '" + entry.path + "'");
    return {};
  }
  case LayerEntry::Kind::other:
    break;
  }
  return make_error(ErrorKind::integrity, "'" + entry.path + "' is a device node or another special file");
}

Result<void> apply_entry(RootedTree& tree, const LayerEntry& entry, LayerContent& content, Budget& budget) {
  if (is_whiteout(entry.path))
    return apply_whiteout(tree, entry.path);
  if (entry.kind == LayerEntry::Kind::other && entry.path.starts_with("dev/"))
    return {};
  return make_entry(tree, entry, content, budget);
}

// Only if nothing exists there. A place behind a dangling link stays as it is.
Result<void> add_mount_points(RootedTree& tree) {
  tree.start_layer();
  for (const char* path : {"dev", "proc", "sys", "tmp", "home", "etc"})
    if (const auto place = tree.locate(path, true); place && !tree.exists(*place))
      XAAS_CHECK(tree.make_directory(*place, 0755));
  for (const char* path : {"etc/passwd", "etc/group", "etc/hosts", "etc/resolv.conf"})
    if (const auto place = tree.locate(path, false); place && !tree.exists(*place)) {
      XAAS_TRY(const FileDescriptor file, tree.create_file(*place));
      if (fchmod(file.get(), 0644) != 0)
        return errno_error(errno, std::string("creating ") + path);
    }
  return {};
}

Result<void> check_target(const fs::path& target, const fs::path& named) {
  std::error_code code;
  const fs::file_status status = fs::symlink_status(target, code);
  if (!fs::exists(status))
    return {};
  if (!fs::is_directory(status))
    return make_error(ErrorKind::usage, named.string() + ": exists and is not a directory");
  const bool empty = fs::is_empty(target, code);
  if (code)
    return errno_error(code.value(), "reading " + named.string());
  if (!empty)
    return make_error(ErrorKind::usage, named.string() + ": the directory is not empty",
                      "the destination must be absent or empty");
  return {};
}

// A tree that is moved to its destination when it is complete.
class NewTree {
public:
  static Result<NewTree> create(const fs::path& directory) {
    fs::path target = fs::absolute(directory).lexically_normal();
    if (!target.has_filename())
      target = target.parent_path();
    XAAS_CHECK(check_target(target, directory));
    remove_abandoned(target.parent_path(), ".xaas-tmp-");
    XAAS_TRY(TemporaryDirectory temporary, TemporaryDirectory::create(target.parent_path(), ".xaas-tmp-"));
    const fs::path root = temporary.path() / "rootfs";
    if (mkdir(root.c_str(), 0700) != 0)
      return errno_error(errno, "creating " + root.string());
    XAAS_TRY(RootedTree tree, RootedTree::open(root));
    return NewTree(std::move(target), std::move(temporary), std::move(tree));
  }

  RootedTree& tree() { return tree_; }
  fs::path root() const { return temporary_.path() / "rootfs"; }

  // Moves a directory of the tree, possibly its root, to the destination.
  Result<void> commit(const fs::path& directory) {
    XAAS_CHECK(tree_.finish());
    if (chmod(directory.c_str(), with_umask(0755)) != 0 ||
        std::rename(directory.c_str(), target_.c_str()) != 0)
      return errno_error(errno, "writing " + target_.string());
    return {};
  }

private:
  NewTree(fs::path target, TemporaryDirectory temporary, RootedTree tree)
      : target_(std::move(target)), temporary_(std::move(temporary)), tree_(std::move(tree)) {}
  fs::path target_;
  TemporaryDirectory temporary_;
  RootedTree tree_;
};

// The name of the single top-level directory, if everything is inside it; else empty.
Result<std::string> single_directory(const fs::path& root) {
  std::vector<fs::directory_entry> entries;
  std::error_code code;
  for (fs::directory_iterator it(root, code), end; !code && it != end; it.increment(code))
    entries.push_back(*it);
  if (code)
    return errno_error(code.value(), "reading " + root.string());
  if (entries.empty())
    return make_error(ErrorKind::integrity, "it contains no files");
  const bool single = entries.size() == 1 && entries[0].symlink_status().type() == fs::file_type::directory;
  return single ? entries[0].path().filename().string() : std::string();
}

// Checks that symlinks in the directory `top` of an archive stay inside it. `links`: paths and destinations.
Result<void> check_links(const std::vector<std::pair<std::string, std::string>>& links,
                         const std::string& top) {
  for (const auto& [path, destination] : links) {
    if (destination.starts_with("/"))
      return damaged("the symlink '" + path + "' leads to '" + destination + "', an absolute path");
    if (const std::string below = top.empty() ? path : relative_under(path, top).string(); !below.empty())
      XAAS_CHECK(check_symlink(below, destination));
  }
  return {};
}

} // namespace

Result<Layers> open_layers(const Image& image, Progress& progress) {
  std::vector<size_t> all(image.manifest().layers.size());
  std::iota(all.begin(), all.end(), size_t(0));
  return open_layers(image, all, progress);
}

Result<Layers> open_layers(const Image& image, const std::vector<size_t>& indices, Progress& progress) {
  std::vector<Descriptor> descriptors;
  for (const size_t index : indices)
    descriptors.push_back(image.manifest().layers[index]);
  image.prefetch(descriptors, progress);
  Layers layers;
  for (const size_t index : indices) {
    const Descriptor& descriptor = image.manifest().layers[index];
    XAAS_TRY(BlobPtr blob, image.open_blob(descriptor));
    layers.push_back({std::move(blob), descriptor, image.config().diff_ids[index]});
  }
  return layers;
}

namespace {

Result<void> write_new(RootedTree& tree, const AddedFile& added) {
  tree.start_layer();
  Result<RootedTree::Place> found = tree.locate(added.path, true);
  if (added.if_missing && (!found || tree.exists(*found)))
    return {};
  XAAS_TRY(const RootedTree::Place place, std::move(found));
  XAAS_TRY(const FileDescriptor file, tree.create_file(place));
  if (!write_all(file.get(), added.content) || fchmod(file.get(), added.mode) != 0)
    return errno_error(errno, "writing " + added.path);
  return {};
}

Result<void> unpack_into(NewTree& made, const Layers& layers) {
  Budget budget{unpack_limit};
  for (const Layer& layer : layers) {
    made.tree().start_layer();
    const auto apply = [&](LayerEntry& entry, LayerContent& content) {
      return apply_entry(made.tree(), entry, content, budget);
    };
    XAAS_CHECK(stream_layer(layer.blob, layer.descriptor.media_type, &layer.diff_id, unpack_limit, apply)
                   .in("layer " + layer.descriptor.digest.to_string()));
  }
  return {};
}

} // namespace

Result<void> unpack(const Layers& layers, const fs::path& directory) {
  XAAS_TRY(NewTree made, NewTree::create(directory));
  XAAS_CHECK(unpack_into(made, layers));
  return made.commit(made.root());
}

Result<void> unpack_with(const Layers& layers, const fs::path& directory,
                         const std::vector<AddedFile>& files) {
  XAAS_TRY(NewTree made, NewTree::create(directory));
  XAAS_CHECK(unpack_into(made, layers));
  XAAS_CHECK(add_mount_points(made.tree()));
  for (const AddedFile& file : files)
    XAAS_CHECK(write_new(made.tree(), file));
  return made.commit(made.root());
}

Result<void> unpack_archive(const BlobPtr& archive, const fs::path& directory, uint64_t limit) {
  XAAS_TRY(NewTree made, NewTree::create(directory));
  Budget budget{limit};
  std::vector<std::pair<std::string, std::string>> links;
  made.tree().start_layer();
  XAAS_CHECK(read_archive(archive, limit, [&](LayerEntry& entry, LayerContent& content) {
    if (entry.kind == LayerEntry::Kind::symlink)
      links.emplace_back(entry.path, entry.link);
    entry.mode |= entry.kind == LayerEntry::Kind::directory ? 0700 : 0600;
    return make_entry(made.tree(), entry, content, budget);
  }));
  XAAS_TRY(const std::string top, single_directory(made.root()));
  XAAS_CHECK(check_links(links, top));
  return made.commit(top.empty() ? made.root() : made.root() / top);
}

} // namespace xaas::oci
