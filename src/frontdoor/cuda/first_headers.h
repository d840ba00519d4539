// The headers in front of a CUDA source's own search path that make Clang take what nvcc takes.
#pragma once

#include <xaas/base/file.h>

namespace xaas::frontdoor {

// Writes them into `directory`, for the CUDA toolkit in `toolkit`. Errors: those of write_file().
Result<void> write_first_headers(const fs::path& toolkit, const fs::path& directory);

} // namespace xaas::frontdoor
