#pragma once

#include "archive_entries.h"

namespace xaas::oci {

// Gives the entries of a tar, in any compression that we read, or of a zip, in their order; whiteouts are
// names like others. `limit`: of the uncompressed tar, and of all contents, in bytes.
Result<void> read_archive(const BlobPtr& archive, uint64_t limit, const OnEntry& entry);

} // namespace xaas::oci
