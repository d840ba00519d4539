// Loops in which a thread waits for another one.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>

#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class Instruction;
} // namespace llvm

namespace xaas::cpukernel {

// The ends of such loops: the blocks from which each goes back to its start. Other threads must run there.
// `stops`: instructions besides meetings before which a thread stops, so that others run.
std::vector<llvm::BasicBlock*> find_waits(llvm::Function& function,
                                          const llvm::SmallPtrSetImpl<const llvm::Instruction*>& stops =
                                              llvm::SmallPtrSet<const llvm::Instruction*, 1>());

// What such a loop is called as a reason for a kernel's form.
constexpr const char* wait_reason = "a loop in which a thread waits for another without a barrier";

} // namespace xaas::cpukernel
