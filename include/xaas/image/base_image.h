// The base image below an application that is being made: the paths of files above it, and its libraries.
//
// A file's path is one of a tree that has nothing else. In the base, directories may be links: a merged /usr
// has /lib as a link to usr/lib. A layer with a directory `lib` would replace that link and everything behind
// it, and one with a file `lib/x` is unpacked in different ways. So every path is rewritten through the links
// of the base, relative links are rewritten with it, and layers repeat the directories of the base with their
// modes and owners.
#pragma once

#include <xaas/image/base.h>
#include <xaas/link/installed.h>
#include <xaas/loader/loading.h>
#include <xaas/oci/name_tree.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace xaas::image {

class BaseImage {
public:
  // Reads the names in all its layers (checked), which are unpacked in the directory `tree`. That must exist
  // as long as the object. `environment`: of the application, which replaces that of the base. Libraries are
  // read in workers, which requires a process with one thread. Integrity error for damaged layers.
  static Result<std::unique_ptr<BaseImage>> read(Base base, const oci::Layers& layers, const fs::path& tree,
                                                 const std::string& arch,
                                                 const std::map<std::string, std::string>& environment);

  // The path in the image of a file with this path, both relative to the root. failed if the base has a
  // directory there, or a file or a dangling link where the path has a directory.
  Result<std::string> place(const std::string& path) const;
  // Rewrites paths and relative destinations of links of the application's files, keeps the order by path,
  // and notes their directories. Directories that the base has are left out. Returns the new paths by the old
  // ones. failed as for place(), and if two of the files get the same path.
  Result<std::map<std::string, std::string>> place_files(std::vector<link::InstalledFile>& files);

  bool has(const std::string& path) const { return !names_.resolve(path).empty(); }
  // The library that the base's loader finds for this name. Without a GNU C library, a base has no libraries
  // that programs for one could load, and none is found.
  Result<loader::Found> find(const std::string& name);
  // The copies of the library that the loader prefers to that on better CPUs (glibc-hwcaps).
  Result<std::vector<const loader::Library*>> find_for_levels(const std::string& name);
  // The library that the loader finds by the RUNPATH of a file of the application in the base; null: none.
  Result<const loader::Library*> find_by_runpath(const std::string& file, const loader::Dynamic& dynamic,
                                                 const std::string& name);
  // From now on, another loader searches, which has these directories and the base's cache. failed if it does
  // not find the base's own libraries. Or again the base's own, as at first.
  Result<void> replace_loader(const std::vector<std::string>& directories);
  void restore_loader() { settings_.directories.defaults = own_directories_; }
  // Whether the base has everything that its library needs.
  Result<bool> is_complete(const loader::Library& library);
  Result<loader::Symbols> symbols(const loader::Library& library) const { return root_.symbols(library); }

  // Notes that the application takes a library from the base.
  void note_library(const std::string& name, const std::vector<std::string>& versions);
  // Notes that a library of the application lies where the base has one of this name.
  void note_replaced(const std::string& name) { replaced_.insert(name); }
  const std::set<std::string>& replaced() const { return replaced_; }
  // With everything that was noted.
  const Base& description() const { return description_; }

private:
  BaseImage(Base base, const fs::path& tree, const std::string& arch)
      : root_(tree, arch, false), description_(std::move(base)) {}
  Result<void> read_names(const oci::Layers& layers);
  void note_directories(const std::string& path);

  oci::NameTree names_;
  loader::DirectoryRoot root_;
  loader::Settings settings_;
  std::vector<std::string> own_directories_; // that the base's loader searches by default
  bool has_c_library_ = false;
  Base description_;
  std::set<std::string> replaced_;
};

} // namespace xaas::image
