// The files of an image by name, as its layers create them, without their contents.
#pragma once

#include <xaas/oci/layer.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace xaas::oci {

class NameTree {
public:
  enum class Kind { directory, file, symlink };
  struct Entry {
    Kind kind;
    std::string destination; // of a symlink
    bool runs = false;       // a file that its owner can execute
    size_t layer = 0;
    Directory directory = {}; // mode and owner, of a directory
  };
  using Gone = std::function<void(const std::string& path)>;

  NameTree() : entries_{{"/", {Kind::directory, {}}}} {}

  // Starts the next layer, whose whiteouts remove files of earlier ones.
  void start_layer() { ++layer_; }

  // Applies an entry of a layer and returns its absolute path, or nothing for a whiteout or a special file.
  // Calls `gone` for each path whose file is removed or replaced.
  std::string add(const LayerEntry& entry, const Gone& gone = {});

  // Resolves an absolute path through symlinks; empty if there is no such file.
  std::string resolve(const std::string& path) const;
  // The path without symlinks at which a layer's entry for an absolute path appears: existing directories are
  // resolved, the last name is not. Missing directories are those of the path.
  std::string place(const std::string& path) const;
  // The entry at a path without symlinks, or nullptr.
  const Entry* find(const std::string& path) const;

private:
  void remove(const std::string& path, bool only_below, const Gone& gone);
  std::string make_place(const std::string& path);

  std::map<std::string, Entry> entries_; // by absolute path
  size_t layer_ = 0;
};

} // namespace xaas::oci
