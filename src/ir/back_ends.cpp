#include <xaas/ir/back_ends.h>

#include <llvm/Support/TargetSelect.h>

namespace xaas::ir {

void initialize_back_ends() {
  static const bool once = [] {
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
    return true;
  }();
  static_cast<void>(once);
}

} // namespace xaas::ir
