// The files of an image, as its layers make them. Programs are kept as files in a temporary directory, so an
// image may be larger than memory.
#pragma once

#include <xaas/base/file.h>
#include <xaas/oci/layer.h>
#include <xaas/oci/name_tree.h>

#include <functional>
#include <map>
#include <set>
#include <string>

namespace xaas::check {

class Tree {
public:
  static Result<Tree> read(const oci::Image& image);

  // ELF files for 64-bit little-endian machines, by absolute path: the files with their bytes, which exist as
  // long as the tree.
  const std::map<std::string, fs::path>& programs() const { return programs_; }
  // Whether the file at this path comes from the application's base image. Its own programs are not checked.
  bool is_of_base(const std::string& path) const;
  // The bytes of the loader at its usual path (psABI); empty: there is none.
  Result<std::string> loader(const std::string& arch) const;
  // The content of /etc/ld.so.cache; empty: there is none.
  const std::string& loader_cache() const { return loader_cache_; }
  // Whether the file at a path without links is an ELF file, including files for other machines.
  bool is_elf(const std::string& path) const { return programs_.count(path) || others_.count(path); }
  // What follows "#!" in the first line of a script; empty for other files.
  std::string interpreter(const std::string& path) const;
  // The path that an absolute path resolves to, through symlinks; empty: it does not exist.
  std::string resolve(const std::string& path) const { return names_.resolve(path); }

private:
  explicit Tree(TemporaryDirectory directory) : directory_(std::move(directory)) {}

  Result<void> add(oci::LayerEntry& entry, oci::LayerContent& content);
  Result<void> add_file(const std::string& path, oci::LayerContent& content);

  oci::NameTree names_;
  std::set<size_t> layers_of_base_;
  std::string loader_cache_;
  std::map<std::string, fs::path> programs_;
  std::set<std::string> others_;               // ELF files for 32 bits, or big-endian
  std::map<std::string, std::string> scripts_; // what follows "#!"
  TemporaryDirectory directory_;
  size_t kept_ = 0; // number of files in it
};

} // namespace xaas::check
