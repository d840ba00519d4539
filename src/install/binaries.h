// The programs, libraries, scripts and links of a tree, made to run below a prefix.
#pragma once

#include "files.h"

#include <xaas/install/install.h>
#include <xaas/loader/search.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::install {

struct TreeOnHost {
  fs::path tree;  // as it is now
  fs::path place; // where it will be
  std::string arch;
  std::map<std::string, std::string> environment; // of the image
  std::vector<run::Bind> libraries;               // of the host
};

// What a file needs so that it runs below the prefix.
struct Change {
  std::string file; // path in the tree
  std::string link; // a symlink: its new destination
  std::string interpreter;
  std::vector<std::string> rpath;
  std::string text; // of a script
};

class Binaries {
public:
  // Finds out what must change, and what speaks against it. Files of an image are read in workers, which
  // requires a process with one thread.
  static Result<Binaries> plan(const TreeOnHost& tree, const std::vector<File>& files);

  // What cannot be changed: these programs never run without a container.
  const std::vector<Obstacle>& impossible() const { return impossible_; }
  // What may not work.
  const std::vector<Obstacle>& doubtful() const { return doubtful_; }

  Result<void> apply() const;

  // A path of the image on the host; colons separate several in the value of a variable.
  std::string on_host(const std::string& path) const;
  std::string value_on_host(const std::string& value) const;
  // The directories of the image's PATH that exist, on the host.
  std::vector<std::string> search_path() const;

private:
  explicit Binaries(const TreeOnHost& tree);
  Result<void> add(const File& file, const class NamedPaths& names);
  void add_program(const std::string& path, const loader::Dynamic& dynamic);
  void add_library(const std::string& path, const loader::Dynamic& dynamic);
  void add_script(const std::string& path, const std::string& content, const class NamedPaths& names);
  void add_link(const File& file);
  std::string find_program(const std::string& name) const;
  std::vector<std::string> own_rpath(const std::string& path, const loader::Dynamic& dynamic) const;
  void add_directory(std::vector<std::string>& rpath, const std::string& path,
                     const std::string& directory) const;
  Result<void> apply(const Change& change) const;

  TreeOnHost tree_;
  loader::Settings settings_;
  std::vector<Change> changes_;
  std::vector<Obstacle> impossible_, doubtful_;
};

} // namespace xaas::install
