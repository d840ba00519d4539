// Which values and branches are the same for all threads of a block.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallPtrSet.h>

#include <memory>

namespace llvm {
class BasicBlock;
class Function;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// LLVM's uniformity analysis of a kernel over the threads of a block; or of a region (regions.h) over those
// of a row, whose sources are two of its parameters. Describes the function as it was when the analysis was
// made; a value that came later counts as uniform.
class Uniformity {
public:
  explicit Uniformity(llvm::Function& function, llvm::ArrayRef<const llvm::Value*> sources = {});
  ~Uniformity();
  Uniformity(const Uniformity&) = delete;
  Uniformity& operator=(const Uniformity&) = delete;

  bool varies(const llvm::Value& value) const;
  bool branch_varies(const llvm::BasicBlock& block) const;

  // Blocks that only some threads may come to, or not as often as others: those between a branch that varies
  // and the place where its ways meet again.
  const llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& divergent_blocks() const;

private:
  struct Analyses;
  std::unique_ptr<Analyses> analyses_;
};

} // namespace xaas::cpukernel
