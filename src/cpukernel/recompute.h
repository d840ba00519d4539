// Values that are computed again where they are needed, instead of being stored for each thread.
#pragma once

#include <llvm/IR/BasicBlock.h>

#include <memory>

namespace llvm {
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

class Uniformity;

// Describes a kernel or region as it was when this was made; its blocks must stay as they are.
class Recomputation {
public:
  // Without `uniformity`, no value counts as uniform.
  Recomputation(llvm::Function& function, const Uniformity* uniformity);
  ~Recomputation();
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

  // A value that all threads compute, and alike.
  bool is_uniform(const llvm::Instruction& value) const;

  // True if a thread gets the value from its index, the function's arguments and uniform values, wherever the
  // value is available, and with few instructions.
  bool is_cheap(const llvm::Instruction& value) const;

  // Computes a cheap value again before `at`, where the value itself is available.
  llvm::Value* copy_of(llvm::Instruction& value, llvm::BasicBlock::iterator at);

private:
  struct Analyses;
  std::unique_ptr<Analyses> analyses_;
};

} // namespace xaas::cpukernel
