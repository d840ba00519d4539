// Whose files this process trusts: those of root, of its own user, and of the owner of this program, who
// controls it anyway.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <sys/types.h>
#include <vector>

namespace xaas {

// Root, the user of this process and the owner of `program` (this program's file), without duplicates.
std::vector<uid_t> trusted_owners(const fs::path& program);

// Checks that nobody but `owners` can change the file at `path`: one of them owns it, and neither its group
// nor others may write it. Follows symbolic links. Otherwise a storage error that says why; for a missing
// file, not_found.
Result<void> check_trusted(const fs::path& path, const std::vector<uid_t>& owners);

// The same for the directory that contains it, in which the file could be replaced. A sticky bit also
// protects it.
Result<void> check_trusted_place(const fs::path& path, const std::vector<uid_t>& owners);

} // namespace xaas
