// The files of a source tree, listed once.
#pragma once

#include <xaas/discover/findings.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::discover {

class TreeFiles {
public:
  // Regular files below `root`, sorted, relative; version control directories left out. Symlinks to files
  // inside the tree are files; symlinked directories are not entered, so that no loop is walked.
  static Result<TreeFiles> list(const fs::path& root, const Limits& limits);

  const fs::path& root() const { return root_; }
  const std::vector<std::string>& paths() const { return paths_; }
  bool complete() const { return complete_; }
  bool has(const std::string& path) const;
  // The text of a file of the tree; nothing if there is none, or it is too large or binary.
  std::optional<std::string> text(const std::string& path) const;

private:
  void add(const fs::directory_entry& entry, const std::string& directory, std::vector<std::string>& below);
  fs::path root_;
  std::vector<std::string> paths_;
  uint64_t file_bytes_ = 0;
  bool complete_ = true;
};

} // namespace xaas::discover
