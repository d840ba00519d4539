// The file system with identities of files that do not depend on where and when they were written.
//
// Clang names a target region of OpenMP by device and inode of its source's file
// (OpenMPIRBuilder::getTargetEntryUniqueInfo): names that the next checkout does not have.
#pragma once

#include <xaas/session/session.h>

#include <llvm/ADT/IntrusiveRefCntPtr.h>

namespace llvm::vfs {
class FileSystem;
}

namespace xaas::known {

// The same files. What identifies one is its path in the project, through symbolic links; hard links are
// files of their own.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
with_stable_identities(const session::Session& session,
                       llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);

} // namespace xaas::known
