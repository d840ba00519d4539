// Which revision of the sources is built.
#pragma once

#include <xaas/base/result.h>

#include <filesystem>
#include <string>

namespace xaas::build {

// The commit that is checked out in the git checkout in which `source` lies, with `-dirty` after it where a
// file of that directory that git knows is not as in that commit. Empty: it lies in none, git knows no file
// of it, or there is no commit or no `git` here. An error where git does not end, or cannot say whether files
// were changed.
Result<std::string> read_revision(const std::filesystem::path& source);

} // namespace xaas::build
