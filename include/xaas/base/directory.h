// Directory listings. A loop over the standard library's iterator throws if reading fails midway, and ignores
// a directory that cannot be opened.
#pragma once

#include <xaas/base/file.h>

namespace xaas {

// Whether a missing directory is an error or counts as empty.
enum class IfMissing { fail, empty };

// The entries of a directory, sorted by name.
Result<std::vector<fs::path>> list_directory(const fs::path& directory,
                                             IfMissing if_missing = IfMissing::fail);

} // namespace xaas
