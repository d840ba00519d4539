// Unpacked images in a directory, for those who run them.
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

// Keeps a tree from being removed as long as it, or a process that inherited its descriptor, lives.
class TreeUse {
public:
  TreeUse(fs::path tree, int lock, bool fresh) : tree_(std::move(tree)), lock_(lock), fresh_(fresh) {}
  TreeUse(TreeUse&& other) noexcept;
  TreeUse& operator=(TreeUse&& other) noexcept;
  ~TreeUse();
  const fs::path& tree() const { return tree_; }
  bool fresh() const { return fresh_; } // it was unpacked just now
  // From now on also programs that this process becomes hold it. It is an empty, ordinary file's descriptor.
  void leave_open() const;

private:
  fs::path tree_;
  int lock_ = -1;
  bool fresh_ = false;
};

// `<root>/<digest>` is a tree, `<root>/<digest>.use` the file that is locked (flock) while it is made or
// used; its content is the tree's size, its time that of the last use. A tree appears whole, by rename, and
// goes by rename. Where there are no locks, two may unpack one image at once, one of them wins, and nothing
// is removed.
class TreeStore {
public:
  // Makes the directory (mode 0700). One that others may write is `storage`: they could change programs.
  static Result<TreeStore> open(fs::path root);
  const fs::path& root() const { return root_; }

  // The image's tree, unpacked if it is not there. Errors as oci::unpack.
  Result<TreeUse> get(const oci::Image& image, Progress& progress = no_progress()) const;
  // The tree of some layers, which are opened if it is not there. `name`: the digest of something that says
  // which they are.
  using OpenLayers = std::function<Result<oci::Layers>(Progress&)>;
  Result<TreeUse> get(const Digest& name, const OpenLayers& open, Progress& progress = no_progress()) const;

  struct Entry {
    std::string name; // of the digest
    uint64_t bytes = 0;
    fs::file_time_type used;
  };
  std::vector<Entry> entries() const;
  // Removes those that were not used for the longest time, until at most `max_bytes` are left; those in use
  // stay. Gives the bytes that are left.
  Result<uint64_t> prune(uint64_t max_bytes) const;

private:
  explicit TreeStore(fs::path root) : root_(std::move(root)) {}
  bool remove(const Entry& entry) const;
  fs::path root_;
};

} // namespace xaas::run
