// A file system whose file identities do not depend on where and when the files were written.
//
// Clang names a target region of OpenMP by the device and inode of its source file
// (OpenMPIRBuilder::getTargetEntryUniqueInfo), which differ in the next checkout.
#pragma once

#include <xaas/session/session.h>

#include <llvm/ADT/IntrusiveRefCntPtr.h>

namespace llvm::vfs {
class FileSystem;
}

namespace xaas::known {

// The same files, each identified by its path in the project after resolving symbolic links. Hard links are
// separate files.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>
with_stable_identities(const session::Session& session,
                       llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);

} // namespace xaas::known
