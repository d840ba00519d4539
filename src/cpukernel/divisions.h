#pragma once

namespace llvm {
class BinaryOperator;
class Function;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// Gives integer divisions without a result on the CPU the result that they have on a GPU.
void guard_divisions(llvm::Function& function);

// The divisor of a division before it was guarded.
llvm::Value* divisor_of(const llvm::BinaryOperator& division);

} // namespace xaas::cpukernel
