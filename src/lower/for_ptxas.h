// IR of an NVIDIA GPU in the form that NVIDIA's assembler optimizes well.
#pragma once

#include <llvm/IR/PassManager.h>

namespace llvm {
class Module;
} // namespace llvm

namespace xaas::lower {

// The last pass before code generation. The meaning of a function stays the same.
struct ForPtxas : llvm::PassInfoMixin<ForPtxas> {
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

// The same for all functions of a module.
void suit_ptxas(llvm::Module& module);

} // namespace xaas::lower
