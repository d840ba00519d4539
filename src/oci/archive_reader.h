#pragma once

#include "archive_entries.h"

namespace xaas::oci {

// Reads the entries of a zip or of a tar, in any supported compression, in order. Whiteout names have no
// special meaning. `limit`: bytes of the uncompressed tar, and of all contents.
Result<void> read_archive(const BlobPtr& archive, uint64_t limit, const OnEntry& entry);

} // namespace xaas::oci
