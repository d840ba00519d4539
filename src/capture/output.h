// Writing what a compiler or linker was asked to write.
#pragma once

#include <xaas/base/file.h>

#include <string_view>

namespace xaas::capture {

// Writes an output file: whole or not at all where it is a regular file. Builds also name `/dev/null` and
// pipes, which are written to and stay what they are.
Result<void> write_output(const fs::path& path, std::string_view content, unsigned mode);

} // namespace xaas::capture
