// Whose files this process believes: root's, its own user's, and those of who owns this program, who decides
// anyway what it does.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <sys/types.h>
#include <vector>

namespace xaas {

// root, the user of this process, and the owner of `program` (this program's file), each once.
std::vector<uid_t> trusted_owners(const fs::path& program);

// Whether nobody but `owners` can change what is at `path`: they own it, and neither its group nor everybody
// may write it. Links are followed. The error, of kind storage, names who can; one of a file that is not
// there is not_found.
Result<void> check_trusted(const fs::path& path, const std::vector<uid_t>& owners);

// The same for the directory that holds it, where a sticky bit is as good: in others a file could be replaced
// by another.
Result<void> check_trusted_place(const fs::path& path, const std::vector<uid_t>& owners);

} // namespace xaas
