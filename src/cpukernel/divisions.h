#pragma once

namespace llvm {
class Function;
}

namespace xaas::cpukernel {

// Gives integer divisions without a result on the CPU the result that they have on a GPU.
void guard_divisions(llvm::Function& function);

} // namespace xaas::cpukernel
