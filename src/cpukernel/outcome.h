// Which way a thread takes.
#pragma once

namespace llvm {
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// A conditional branch that a thread takes: to its first successor where the condition holds.
struct BranchOutcome {
  llvm::Value* condition;
  bool holds;
};

} // namespace xaas::cpukernel
