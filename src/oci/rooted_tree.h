// A directory tree that is written under untrusted names.
//
// Every name is resolved from the root, one component at a time, by openat without following links. We
// resolve symlinks on the way ourselves, with the tree's root as the root of absolute destinations. So
// nothing outside is ever reached, whatever the tree contains. openat2(RESOLVE_IN_ROOT) would do this in the
// kernel, but older kernels and container runtimes on HPC systems lack or block it.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/file_descriptor.h>
#include <xaas/base/result.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::oci {

class RootedTree {
public:
  // The directory must exist, and nobody else may use it until the tree is finished.
  static Result<RootedTree> open(const fs::path& root);

  // A resolved path: the open parent directory, the path of that directory ("" for the root) and the name in
  // it.
  struct Place {
    FileDescriptor directory;
    std::string parent, name;
    std::string path() const { return parent.empty() ? name : parent + "/" + name; }
  };

  // Starts a new layer: from here on, paths may lead only through symlinks of earlier layers, and whiteouts
  // spare what this layer creates.
  void start_layer() { made_.clear(), links_.clear(); }

  // Resolves all but the last component of a normalized path, creating missing directories if `create`. A
  // path through a non-directory, a symlink of this layer or a dangling symlink is an integrity error.
  Result<Place> locate(const std::string& path, bool create);

  bool exists(const Place& place) const; // including a dangling link

  // Each of these replaces what is at the place, except that an existing directory stays.
  Result<void> make_directory(const Place& place, unsigned mode);
  Result<FileDescriptor> create_file(const Place& place);
  Result<void> make_symlink(const Place& place, const std::string& destination);
  Result<void> make_hard_link(const Place& from, const Place& place);

  // For whiteouts: removes what earlier layers put at a place, or into the directory of a place.
  Result<void> hide(const Place& place);
  Result<void> hide_siblings(const Place& place);

  // Sets the final mode of every directory; until then they are writable.
  Result<void> finish();

private:
  explicit RootedTree(FileDescriptor root) : root_(std::move(root)) {}
  struct Walk {
    FileDescriptor directory;
    std::vector<std::string> path, ahead; // `ahead` in reverse order
    unsigned links = 0;
  };
  Result<FileDescriptor> open_directory(const std::vector<std::string>& path) const;
  Result<void> step(Walk& walk, const std::string& name, bool create, const std::string& whole);
  Result<void> follow(Walk& walk, const std::string& name, const std::string& whole) const;
  Result<void> clear(const Place& place);
  Result<void> remove(int directory, const std::string& name, const std::string& path, bool spare_made);
  Result<void> remove_children(int directory, const std::string& path, bool spare_made);

  FileDescriptor root_;
  std::map<std::string, unsigned> modes_; // of directories
  std::set<std::string> made_, links_;    // everything that this layer created, and its symlinks
};

} // namespace xaas::oci
