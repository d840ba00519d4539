// Paths in a tree, as a program sees them that has the tree as its root: links of the tree lead nowhere else.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>

namespace xaas::sandbox {

struct TreePlace {
  std::string inside; // without links, "." and ".."
  fs::path outside;   // the same on the host
  fs::file_type type = fs::file_type::not_found;
};

// Where an absolute path leads. What does not exist is taken as it is written, from there on.
TreePlace find_in_tree(const fs::path& tree, const std::string& path);

// An empty directory or file at this path, for something of the host to be bound there; with the directories
// above it. Gives the path without links. `storage` if it cannot be made, or is of the other kind.
Result<std::string> make_mount_point(const fs::path& tree, const std::string& path, bool directory);

// True if there is anything but directories at this place or below.
bool has_files(const TreePlace& place);

// True if `path` is `directory` or lies below it; both without "." and "..".
bool is_below(const std::string& path, const std::string& directory);

} // namespace xaas::sandbox
