// Paths in a tree, as a program sees them that has the tree as its root: links of the tree lead nowhere else.
#pragma once

#include <xaas/base/file.h>

#include <string>

namespace xaas {

struct TreePlace {
  std::string inside; // without links, "." and ".."
  fs::path outside;   // the same on the host
  fs::file_type type = fs::file_type::not_found;
};

// Where an absolute path leads. What does not exist is taken as it is written, from there on.
TreePlace find_in_tree(const fs::path& tree, const std::string& path);

} // namespace xaas
