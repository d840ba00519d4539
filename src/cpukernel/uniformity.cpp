// Problem: LLVM's uniformity analysis asks the target which values differ between threads, and the target is
// a CPU, which has no threads in this sense.
//
//     i = threadIdx.x;                         varies: a source
//     if (blockIdx.x > 0) s = a[n];            neither varies
//     if (i < n) v = 1; else v = 2;            the branch varies, and so does v
//
// Approach: a target of our own that names the sources: the thread's index, private memory, atomic
// operations, and what calls return. A load from memory that all threads share is uniform if its address is:
// a program whose threads see different values there, and then meet at different barriers, is wrong on a GPU,
// too. In a region, the sources are its parameters x and t.
#include "uniformity.h"
#include "nodes.h"

#include <llvm/ADT/GenericUniformityImpl.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

namespace xaas::cpukernel {

namespace {

class Threads : public llvm::TargetTransformInfoImplCRTPBase<Threads> {
public:
  Threads(const llvm::DataLayout& layout, llvm::ArrayRef<const llvm::Value*> sources)
      : TargetTransformInfoImplCRTPBase(layout), sources_(sources) {}
  bool hasBranchDivergence(const llvm::Function*) const override { return true; }

  llvm::InstructionUniformity getInstructionUniformity(const llvm::Value* value) const override {
    return is_source(value) ? llvm::InstructionUniformity::NeverUniform
                            : llvm::InstructionUniformity::Default;
  }

private:
  bool is_source(const llvm::Value* value) const {
    if (llvm::is_contained(sources_, value))
      return true;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction)
      return false;
    if (instruction->isAtomic() || llvm::isa<llvm::AllocaInst>(instruction))
      return true;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction))
      return load->isVolatile() || is_private(load->getPointerOperand());
    const auto* call = llvm::dyn_cast<llvm::CallBase>(instruction);
    return call && depends_on_thread(*call);
  }

  static bool is_private(const llvm::Value* pointer) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
    return llvm::any_of(objects,
                        [](const llvm::Value* object) { return llvm::isa<llvm::AllocaInst>(object); });
  }

  llvm::SmallVector<const llvm::Value*, 2> sources_;
};

} // namespace

struct Uniformity::Analyses {
  Analyses(llvm::Function& function, llvm::ArrayRef<const llvm::Value*> sources)
      : dominators(function), target(std::make_unique<Threads>(function.getDataLayout(), sources)),
        result(dominators, compute(cycles, function), &target) {
    result.compute();
    const llvm::PostDominatorTree post_dominators(function);
    for (const llvm::BasicBlock& block : function)
      if (result.hasDivergentTerminator(block))
        add_blocks_between(block, post_dominators);
  }

  // The blocks between a branch and the place where its ways meet again.
  void add_blocks_between(const llvm::BasicBlock& branch, const llvm::PostDominatorTree& post_dominators) {
    const auto* tree_node = post_dominators.getNode(&branch);
    const llvm::BasicBlock* const meet =
        tree_node && tree_node->getIDom() ? tree_node->getIDom()->getBlock() : nullptr;
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
    llvm::SmallVector<const llvm::BasicBlock*, 16> left(llvm::successors(&branch));
    while (!left.empty()) {
      const llvm::BasicBlock* block = left.pop_back_val();
      if (block == meet || !seen.insert(block).second)
        continue;
      divergent_blocks.insert(block);
      llvm::append_range(left, llvm::successors(block));
    }
  }

  static llvm::CycleInfo& compute(llvm::CycleInfo& cycles, llvm::Function& function) {
    cycles.compute(function);
    return cycles;
  }

  llvm::DominatorTree dominators;
  llvm::CycleInfo cycles;
  llvm::TargetTransformInfo target;
  llvm::UniformityInfo result;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> divergent_blocks;
};

Uniformity::Uniformity(llvm::Function& function, llvm::ArrayRef<const llvm::Value*> sources)
    : analyses_(std::make_unique<Analyses>(function, sources)) {}
Uniformity::~Uniformity() = default;

bool Uniformity::varies(const llvm::Value& value) const {
  return analyses_->result.isDivergent(&value);
}

bool Uniformity::branch_varies(const llvm::BasicBlock& block) const {
  return analyses_->result.hasDivergentTerminator(block);
}

const llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& Uniformity::divergent_blocks() const {
  return analyses_->divergent_blocks;
}

} // namespace xaas::cpukernel
