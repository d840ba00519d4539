// Inline assembly of device code as IR.
#pragma once

namespace llvm {
class Module;
}

namespace xaas::cpukernel {

// Replaces inline assembly whose instructions have a form for a CPU; the rest stays as it is. Instructions
// that ask for the thread become intrinsics of LLVM's NVPTX back end.
void translate_assembly(llvm::Module& module);

} // namespace xaas::cpukernel
