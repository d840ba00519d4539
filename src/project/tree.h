// Copies of source trees and of files to install.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <vector>

namespace xaas::project {

// A file or directory of the tree that this user may not read, or nothing.
fs::path first_unreadable(const fs::path& tree);

// Installs a file, symbolic link or directory tree as `to`, a normal relative path below the directory
// `prefix` of `root`. Permission bits are kept, links stay links, and directories are merged. The files below
// `root` are untrusted: nothing is written through a link there. Usage errors: the path exists already, or
// leads through a link. Failed: `from` does not exist, or is a special file.
Result<void> install_entry(const fs::path& from, const fs::path& root, const fs::path& prefix,
                           const fs::path& to);

} // namespace xaas::project
