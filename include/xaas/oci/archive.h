// Untrusted archives: tar in any common compression, and zip.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/oci/blob.h>

#include <cstdint>

namespace xaas::oci {

// Unpacks an archive into a directory that is absent or empty. If the archive has a single top-level
// directory, as source releases do, unpacks its contents. Supports tar, plain or compressed with gzip, bzip2,
// xz, lzma, lzip, lz4, zstd or compress(1), and zip. Integrity errors: a damaged archive or one without
// files; a name that is absolute or leads out of the directory, even through a symlink of the archive; a
// symlink to an absolute path or out of the directory; a special file; more than `limit` bytes when unpacked.
// The directory appears at the end, complete; an error leaves nothing behind. Permission bits are kept
// (without setuid, setgid and sticky), and the owner, who is the caller, can read and write everything.
Result<void> unpack_archive(const BlobPtr& archive, const fs::path& directory, uint64_t limit);

} // namespace xaas::oci
