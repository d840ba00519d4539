// A workaround for LLVM's loop vectorizer.
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace xaas::cpukernel {

// Hides from LLVM which of their lower bits a function takes of integers in loops.
void hide_low_bits(llvm::Function& function);

// Ends that, after the vectorizer.
void show_low_bits(llvm::Function& function);

} // namespace xaas::cpukernel
