// The programs, libraries, texts and links of a tree, made to run below a prefix.
#pragma once

#include "files.h"
#include "named_paths.h"

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
  std::set<std::string> programs;                 // that users start: their paths in the tree
};

// What changes in a file so that it works below the prefix.
struct Change {
  std::string file;        // path in the tree
  std::string link;        // a symlink: its new destination
  std::string interpreter; // a program
  std::vector<std::string> rpath;
  bool is_text = false; // paths of the image get the prefix
};

class Binaries {
public:
  // Finds the necessary changes and the obstacles. Files of an image are read in workers, which
  // requires a process with one thread.
  // Files of a base image are examined only if the application loads them.
  static Result<Binaries> plan(const TreeOnHost& tree, const std::vector<File>& files);

  // Programs that never run without a container, because they cannot be changed.
  const std::vector<Obstacle>& impossible() const { return impossible_; }
  // Files that may not work without a container.
  const std::vector<Obstacle>& doubtful() const { return doubtful_; }
  // Notes for users, about programs that cannot run in either way.
  const std::vector<std::string>& notes() const { return notes_; }

  // Changes the files. Returns the texts that have changed, with a slash in front.
  Result<std::vector<std::string>> apply() const;

  // The value of a variable, in which paths of the image are those on the host.
  std::string on_host(const std::string& value) const;
  // The directories of the image's PATH that exist, on the host.
  std::vector<std::string> search_path() const;

private:
  Binaries(const TreeOnHost& tree, const std::vector<File>& files);
  Result<void> add(const File& file);
  Result<void> add_binary(const File& file, const std::string& content);
  Result<void> add_relocation(Change change, const File& file, const std::string& content);
  void add_link(const File& file);
  void check_script(const std::string& path, std::string_view content);
  void check_variables();
  std::string new_text(const std::string& content) const;
  bool is_of_base(const std::string& interpreter) const;
  std::string interpreter_on_host(std::string_view first_line) const;
  std::string find_program(const std::string& name) const;
  std::vector<std::string> rpath_of(const std::string& path, const loader::Dynamic& dynamic) const;
  void add_directory(std::vector<std::string>& rpath, const std::string& path,
                     const std::string& directory) const;
  Result<void> add_host_libraries() const;

  TreeOnHost tree_;
  std::set<std::string> of_base_; // paths of files
  NamedPaths names_;
  loader::Settings settings_;
  std::vector<Change> changes_;
  std::vector<Obstacle> impossible_, doubtful_;
  std::vector<std::string> notes_;
};

// The directories of an image's PATH, also if it sets none.
std::vector<std::string> path_of(const std::map<std::string, std::string>& environment);

} // namespace xaas::install
