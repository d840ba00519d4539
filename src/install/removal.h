// Removing the files of an installation.
//
// Users may have replaced a directory of the installation by a link, or do so meanwhile. So each file is
// looked for without following links, is opened before it is compared, and goes away only as what the
// manifest says.
#pragma once

#include "manifest.h"

#include <cstdint>
#include <optional>

namespace xaas::install {

// Removes what the manifest lists below the prefix and is unchanged, and directories that are then empty; not
// the manifest. Returns the number of files. Goes on after errors, and returns the first one at the end.
struct RemovedFiles {
  uint64_t files = 0;
  std::optional<Error> error;
};
Result<RemovedFiles> remove_files(const fs::path& prefix, const Manifest& manifest);

} // namespace xaas::install
