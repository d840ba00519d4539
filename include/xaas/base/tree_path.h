// Paths in a tree as a program sees them whose root directory is the tree: symbolic links stay inside.
#pragma once

#include <xaas/base/file.h>

#include <string>

namespace xaas {

struct TreePlace {
  std::string inside; // without symbolic links, "." and ".."
  fs::path outside;   // the path on the host
  fs::file_type type = fs::file_type::not_found;
};

// Resolves an absolute path. From the first component that does not exist, the rest is taken literally.
TreePlace find_in_tree(const fs::path& tree, const std::string& path);

} // namespace xaas
