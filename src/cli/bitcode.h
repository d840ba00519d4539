// The IR modules of an image as files, for LLVM's tools.
#pragma once

#include <xaas/image/application_image.h>

namespace xaas::cli {

// Writes each module of the image to `directory`/<hex>.bc, where <hex> is its digest as in the bundle, and
// adds an entry for each to `list`: `file`, `arch` (LLVM's name, or that of a GPU's), `form` (raw or
// prepared), `sources` and `configurations`. The directory is made. Errors: those of reading the image and of
// writing the files.
Result<void> write_bitcode(const image::ApplicationImage& ir, const fs::path& directory, Json& list);

} // namespace xaas::cli
