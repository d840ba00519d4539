// Loops in which a thread waits for another one.
#pragma once

#include <vector>

namespace llvm {
class BasicBlock;
class Function;
} // namespace llvm

namespace xaas::cpukernel {

// The ends of such loops: the blocks from which each goes back to its start. Other threads must run there.
std::vector<llvm::BasicBlock*> find_waits(llvm::Function& function);

// What such a loop is called as a reason for a kernel's form.
constexpr const char* wait_reason = "a loop in which a thread waits for another without a barrier";

} // namespace xaas::cpukernel
