// Operations on paths in a tree.
#pragma once

#include <xaas/base/result.h>
#include <xaas/base/tree_path.h>

#include <string>

namespace xaas::runtimes {

// An empty directory or file at this path, for something of the host to be bound there; with the directories
// above it. Gives the path without links. `storage` if it cannot be made, or is of the other kind.
Result<std::string> make_mount_point(const fs::path& tree, const std::string& path, bool directory);

// True if there is anything but directories at this place or below.
bool has_files(const TreePlace& place);

// True if `path` is `directory` or lies below it; both without "." and "..".
bool is_below(const std::string& path, const std::string& directory);

} // namespace xaas::runtimes
