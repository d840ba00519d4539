// Paths in the tree of an image: places where something of the host is mounted.
#pragma once

#include <xaas/base/result.h>
#include <xaas/base/tree_path.h>

#include <string>

namespace xaas::runtimes {

// Makes an empty directory or file as a mount point, and the directories above it. Returns the path without
// links. `storage` if it cannot be made, or is of the other kind.
Result<std::string> make_mount_point(const fs::path& tree, const std::string& path, bool directory);

// True if the path is anything but a directory, or a directory with such entries below.
bool has_files(const TreePlace& place);

// True if `path` is `directory` or lies below it. Neither may contain "." or "..".
bool is_below(const std::string& path, const std::string& directory);

} // namespace xaas::runtimes
