// A directory tree that is written to by names which others chose.
//
// Every name is walked from the root, one component at a time, by openat without following links; a symlink
// on the way is resolved by us, with the tree's root as the root of absolute destinations. So nothing outside
// is ever reached, whatever the tree contains. openat2(RESOLVE_IN_ROOT) would do this in the kernel, but
// older kernels and container runtimes on HPC systems do not have it or block it.
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
  // The directory must exist and be ours alone until the tree is finished.
  static Result<RootedTree> open(const fs::path& root);

  // Where a path leads: the open directory that holds it, that directory's own path ("" for the root) and the
  // name in it.
  struct Place {
    FileDescriptor directory;
    std::string parent, name;
    std::string path() const { return parent.empty() ? name : parent + "/" + name; }
  };

  // Everything from here on belongs to a new layer: only symlinks of earlier layers may be walked through,
  // and whiteouts spare what this layer made.
  void start_layer() { made_.clear(), links_.clear(); }

  // Resolves all but the last component of a normalised path. Missing directories are made if `create`. A
  // path through something that is no directory, through a symlink of this layer or through one that leads
  // nowhere is an integrity error.
  Result<Place> locate(const std::string& path, bool create);

  bool exists(const Place& place) const; // also a link that leads nowhere

  // Each replaces what is at the place; a directory stays what it is.
  Result<void> make_directory(const Place& place, unsigned mode);
  Result<FileDescriptor> create_file(const Place& place);
  Result<void> make_symlink(const Place& place, const std::string& destination);
  Result<void> make_hard_link(const Place& from, const Place& place);

  // What whiteouts do: removes what earlier layers put at a place, or into the directory of a place.
  Result<void> hide(const Place& place);
  Result<void> hide_siblings(const Place& place);

  // Gives every directory the mode that it was made with; until then they can be written.
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
  std::map<std::string, unsigned> modes_; // of the directories
  std::set<std::string> made_, links_;    // by this layer: everything, symlinks
};

} // namespace xaas::oci
