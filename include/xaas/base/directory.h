// The entries of directories. A loop over the standard library's iterator throws where reading goes on to
// fail, and says nothing where the directory cannot be opened.
#pragma once

#include <xaas/base/file.h>

namespace xaas {

// Whether a directory that is not there is an error, or has nothing in it.
enum class IfMissing { fail, empty };

// The entries of a directory, sorted by name.
Result<std::vector<fs::path>> list_directory(const fs::path& directory,
                                             IfMissing if_missing = IfMissing::fail);

} // namespace xaas
