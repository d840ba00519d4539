// The base image of an application that is being built: the paths of files above it, and its libraries.
//
// A file's path is one of a tree that has nothing else. In the base, directories may be links: a merged /usr
// has /lib as a link to usr/lib. A layer with a directory `lib` would replace that link and everything behind
// it, and one with a file `lib/x` is unpacked in different ways. So every path is rewritten through the links
// of the base, relative links are rewritten with it, and layers repeat the directories of the base with their
// modes and owners.
#pragma once

#include "image_layers.h"

#include <xaas/base/progress.h>
#include <xaas/image/application_image.h>
#include <xaas/link/installed.h>
#include <xaas/loader/loading.h>
#include <xaas/oci/name_tree.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::build {

class BaseImage {
public:
  // Reads all layers, and unpacks them into the directory `tree`, which must exist as long as the object.
  // Errors: those of layers_of_image(); usage for an IR or source image, and for an image with more layers
  // than leave room for those of an application; integrity for damaged layers.
  static Result<std::unique_ptr<BaseImage>> open(const std::string& reference, const std::string& arch,
                                                 const fs::path& tree, const registry::Access& access,
                                                 Progress& progress);

  const std::string& name() const { return layers_.name; }

  // The path in the image of a file with this path, both relative to the root. failed if the base has a
  // directory there, or a file where the path has a directory.
  Result<std::string> place(const std::string& path) const;
  // Rewrites paths and relative destinations of links, and keeps the order by path. Directories that the base
  // has are left out. failed as for place(), and if two of the files get the same path.
  Result<void> place(std::vector<link::InstalledFile>& files) const;

  bool has(const std::string& path) const { return !names_.resolve(path).empty(); }
  // What the base's loader finds for this name. Without a GNU C library, a base has no libraries that
  // programs for one could load, and none is found.
  Result<loader::Found> find(const std::string& name);
  // Whether the base has everything that its library needs.
  Result<bool> is_complete(const loader::Library& library);
  Result<loader::Symbols> symbols(const loader::Library& library) const { return root_.symbols(library); }

  // Notes that files of the application have these paths, and that it takes a library from the base.
  void note_files(const std::vector<link::InstalledFile>& files);
  void note_library(const std::string& name, const std::vector<std::string>& versions);
  // Notes that a library of the application lies where the base has one of this name.
  void note_replaced(const std::string& name) { replaced_.insert(name); }
  const std::set<std::string>& replaced() const { return replaced_; }
  // With everything that was noted.
  const image::Base& description() const { return description_; }
  image::BaseLayers take_layers();

private:
  BaseImage(ImageLayers layers, const fs::path& tree, const std::string& arch);
  Result<void> read(Progress& progress, const fs::path& tree);

  ImageLayers layers_;
  oci::NameTree names_;
  loader::DirectoryRoot root_;
  loader::Settings settings_;
  bool has_c_library_ = false;
  image::Base description_;
  std::set<std::string> replaced_;
};

} // namespace xaas::build
