// The files of an image, as its layers make them.
#pragma once

#include <xaas/oci/layer.h>

#include <map>
#include <string>

namespace xaas::verify {

class Tree {
public:
  static Result<Tree> read(const oci::Image& image);

  // ELF files for 64-bit little-endian machines, by absolute path.
  const std::map<std::string, std::string>& programs() const { return programs_; }
  // The path of the file that an absolute path leads to, through symlinks; empty: there is none.
  std::string resolve(const std::string& path) const;

private:
  void add(oci::LayerEntry entry);
  void remove(const std::string& path);

  enum class Kind { directory, file, symlink };
  struct Entry {
    Kind kind;
    std::string destination; // of a symlink
  };
  std::map<std::string, Entry> entries_; // by absolute path
  std::map<std::string, std::string> programs_;
};

} // namespace xaas::verify
