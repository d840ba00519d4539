// Putting a complete directory in its place.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

namespace xaas::install {

// Moves the directory `made` to `prefix`, where nothing may be. Usage error if something is.
Result<void> put_in_place(const fs::path& made, const fs::path& prefix);

// Exchanges `made` with what is at `prefix`. On a file system that cannot exchange, the old directory is
// moved away first.
Result<void> exchange(const fs::path& made, const fs::path& prefix);

} // namespace xaas::install
