// Archives that other people made: tar in whatever compression, zip.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/oci/blob.h>

#include <cstdint>

namespace xaas::oci {

// Unpacks an archive into a directory that is absent or empty. If all of it lies in one directory, as
// releases of sources do, the contents of that one are taken. Archives are tar, plain or compressed by gzip,
// bzip2, xz, lzma, lzip, lz4, zstd or compress(1), and zip. Integrity errors: one that is damaged or has no
// files; a name that is absolute or leads out of the directory, also through a symlink of the archive; a
// symlink to an absolute path or out of the directory; a special file; more than `limit` bytes when unpacked.
// The directory appears at the end, whole; an error leaves nothing behind. Permission bits are kept (without
// setuid, setgid and sticky), and everything can be read and written by its owner, who is the caller.
Result<void> unpack_archive(const BlobPtr& archive, const fs::path& directory, uint64_t limit);

} // namespace xaas::oci
