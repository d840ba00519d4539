// The files of a source tree, listed once.
#pragma once

#include <xaas/discover/findings.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::discover {

class TreeFiles {
public:
  // Regular files below `root`, sorted, relative, without version control directories. Symlinks to files
  // inside the tree count as files. Symlinked directories are not entered, which avoids loops, but resolved()
  // knows them.
  static Result<TreeFiles> list(const fs::path& root, const Limits& limits);

  const fs::path& root() const { return root_; }
  const std::vector<std::string>& paths() const { return paths_; }
  bool complete() const { return complete_; }
  bool too_deep() const { return too_deep_; } // directories below the deepest level were left out
  // The path with links to directories of the tree resolved.
  std::string resolved(std::string path) const;
  bool has(const std::string& path) const;
  // The text of a file of the tree; nothing if it does not exist, or is too large or binary.
  std::optional<std::string> text(const std::string& path) const;
  // The files among those requested that are too large or binary.
  const std::set<std::string>& unread() const { return unread_; }

private:
  void add(const fs::directory_entry& entry, const std::string& directory, std::vector<std::string>& below);
  fs::path root_;
  std::vector<std::string> paths_;
  uint64_t file_bytes_ = 0;
  bool complete_ = true, too_deep_ = false;
  std::map<std::string, std::string> links_; // to directories of the tree
  mutable std::set<std::string> unread_;
};

} // namespace xaas::discover
