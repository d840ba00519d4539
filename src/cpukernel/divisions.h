#pragma once

namespace llvm {
class BinaryOperator;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// Gives integer divisions without a result on the CPU the result that they have on a GPU.
void guard_divisions(llvm::Function& function);

// The divisor of a division before it was guarded.
llvm::Value* divisor_of(const llvm::BinaryOperator& division);

// True if an instruction may run where the kernel would not run it. LLVM does not know that of a guarded
// division.
bool is_speculatable(const llvm::Instruction& instruction);

} // namespace xaas::cpukernel
