// A file system whose files are read once.
#pragma once

#include <llvm/ADT/IntrusiveRefCntPtr.h>

namespace llvm::vfs {
class FileSystem;
} // namespace llvm::vfs

namespace xaas::known {

// The machine's files, each as it was when it was first asked for: one compile that reads its files twice
// sees the same twice, whatever happens to them meanwhile. What was not there stays away. Contents are copied
// into memory, so a file that is overwritten in place does not change either. Not for several threads.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_read_once();

} // namespace xaas::known
