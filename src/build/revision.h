// The revision of the sources.
#pragma once

#include <xaas/base/result.h>

#include <filesystem>
#include <string>

namespace xaas::build {

// The commit that is checked out in the git checkout that contains `source`, with `-dirty` if a file of that
// directory that git tracks differs from that commit. Empty: there is no checkout, git tracks no file of the
// directory, or there is no commit or no `git` here. An error if git does not finish, or cannot tell whether
// files were changed.
Result<std::string> read_revision(const std::filesystem::path& source);

} // namespace xaas::build
