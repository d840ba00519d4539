// Copies of source trees and of files to install.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <vector>

namespace xaas::project {

// Copies the tree `from` into the existing directory `to`: permission bits and times kept, so that make sees
// what it would have seen; version control's `.git`, sockets, pipes and devices are left out, and so is
// everything in `skip` (where a build happens inside the sources). Symbolic links stay links, but none leads
// into the original tree.
Result<void> copy_sources(const fs::path& from, const fs::path& to, const std::vector<fs::path>& skip);

// A file or directory of the tree that we may not read, or nothing.
fs::path first_unreadable(const fs::path& tree);

// Installs one file, symbolic link or directory with all that is in it as `to`, a normal relative path below
// the directory `prefix` of `root`; permission bits are kept, links stay links, directories are merged. What
// is below `root` may be a stranger's: nothing is written through a link of it. Usage errors: something is
// there already, or the place leads through a link. Failed: `from` is not there, or is a special file.
Result<void> install_entry(const fs::path& from, const fs::path& root, const fs::path& prefix,
                           const fs::path& to);

} // namespace xaas::project
