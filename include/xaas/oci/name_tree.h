// The files of an image by their names, as its layers make them, without their contents.
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
    bool runs = false;       // a file that its owner may execute
    size_t layer = 0;
  };
  using Gone = std::function<void(const std::string& path)>;

  NameTree() : entries_{{"/", {Kind::directory, {}}}} {}

  // What follows belongs to the next layer: whiteouts remove what is of earlier ones.
  void start_layer() { ++layer_; }

  // Applies an entry of a layer that is read, and gives its absolute path: nothing where it is a whiteout or
  // a special file. Each path whose file is not what it was is told to `gone`.
  std::string add(const LayerEntry& entry, const Gone& gone = {});

  // The absolute path of the file that an absolute path leads to, through symlinks; empty: there is none.
  std::string resolve(const std::string& path) const;
  // What is at a path that has no symlinks; nullptr: nothing.
  const Entry* find(const std::string& path) const;

private:
  void remove(const std::string& path, bool only_below, const Gone& gone);
  std::string place(const std::string& path);

  std::map<std::string, Entry> entries_; // by absolute path
  size_t layer_ = 0;
};

} // namespace xaas::oci
