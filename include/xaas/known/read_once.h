// A file system that reads each file once.
#pragma once

#include <llvm/ADT/IntrusiveRefCntPtr.h>

namespace llvm::vfs {
class FileSystem;
} // namespace llvm::vfs

namespace xaas::known {

// The machine's files, each as it was at the first request, so that a compile that reads its files twice sees
// the same both times. A file that did not exist stays absent. Contents are copied into memory, so even a
// file that is overwritten in place does not change. For one thread only.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_read_once();

} // namespace xaas::known
