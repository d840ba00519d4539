// Unpacked images in a directory, to be run from.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/oci/layer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xaas::run {

// Keeps a tree from being removed while this object, or a process that inherited its descriptor, lives.
class TreeUse {
public:
  TreeUse(fs::path tree, int lock, bool fresh) : tree_(std::move(tree)), lock_(lock), fresh_(fresh) {}
  TreeUse(TreeUse&& other) noexcept;
  TreeUse& operator=(TreeUse&& other) noexcept;
  ~TreeUse();
  const fs::path& tree() const { return tree_; }
  bool fresh() const { return fresh_; } // this use unpacked it
  // Programs that this process becomes hold the tree, too, from now on. The descriptor is of an empty regular
  // file.
  void leave_open() const;

private:
  fs::path tree_;
  int lock_ = -1;
  bool fresh_ = false;
};

// `<root>/<digest>` is a tree. `<root>/<digest>.use` is locked (flock) while the tree is made or used; it
// holds the tree's size, and its modification time is that of the last use. A tree appears and disappears
// whole, by rename. On a file system without locks, two runs may unpack the same image at once; one of them
// wins, and nothing is ever removed.
class TreeStore {
public:
  // Makes the directory (mode 0700). `storage` if others may write it, because they could change programs.
  static Result<TreeStore> open(fs::path root);
  const fs::path& root() const { return root_; }

  // The image's tree, unpacked first if necessary. Errors as for oci::unpack.
  Result<TreeUse> get(const oci::Image& image, Progress& progress = no_progress()) const;
  // The tree that `make` makes in a directory that does not exist yet, whole or not at all. `name`: a digest
  // that identifies its content.
  using MakeTree = std::function<Result<void>(const fs::path& directory, Progress&)>;
  Result<TreeUse> get_made(const Digest& name, const MakeTree& make,
                           Progress& progress = no_progress()) const;
  // The tree of some layers, which are opened only if the tree is not there. `name`: the digest of a text
  // that identifies them.
  using OpenLayers = std::function<Result<oci::Layers>(Progress&)>;
  Result<TreeUse> get(const Digest& name, const OpenLayers& open, Progress& progress = no_progress()) const;

  struct Entry {
    std::string name; // the digest
    uint64_t bytes = 0;
    fs::file_time_type used;
  };
  std::vector<Entry> entries() const;
  // Removes the least recently used trees until at most `max_bytes` are left. Trees in use stay. Returns the
  // bytes that are left.
  Result<uint64_t> prune(uint64_t max_bytes) const;

private:
  explicit TreeStore(fs::path root) : root_(std::move(root)) {}
  bool remove(const Entry& entry) const;
  fs::path root_;
};

} // namespace xaas::run
