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
//
// LLVM 22 does not see that the way out of a loop may vary (llvm-project pull request 216296), so we add such
// values to the sources and ask again:
//
//     for (k = 0, f = 0; k < 4; ++k)
//       if (k > i) { f = 1; break; }           f varies
//
// LLVM also takes a value for uniform that some threads define alike and the others leave undefined. Here it
// varies: we take a uniform value from any thread, perhaps from one that left it undefined.
//
//     if (i == 0) v = a[n];                    v varies
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

#include <optional>

namespace xaas::cpukernel {

namespace {

using Sources = llvm::SmallPtrSet<const llvm::Value*, 4>;

class Threads : public llvm::TargetTransformInfoImplCRTPBase<Threads> {
public:
  Threads(const llvm::DataLayout& layout, const Sources& sources)
      : TargetTransformInfoImplCRTPBase(layout), sources_(sources) {}
  bool hasBranchDivergence(const llvm::Function*) const override { return true; }

  llvm::InstructionUniformity getInstructionUniformity(const llvm::Value* value) const override {
    return is_source(value) ? llvm::InstructionUniformity::NeverUniform
                            : llvm::InstructionUniformity::Default;
  }

private:
  bool is_source(const llvm::Value* value) const {
    if (sources_.contains(value))
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

  const Sources& sources_;
};

} // namespace

struct Uniformity::Analyses {
  Analyses(llvm::Function& function, llvm::ArrayRef<const llvm::Value*> first_sources)
      : sources(first_sources.begin(), first_sources.end()), dominators(function), post_dominators(function),
        target(std::make_unique<Threads>(function.getDataLayout(), sources)) {
    cycles.compute(function);
    do {
      result.emplace(dominators, cycles, &target);
      result->compute();
      divergent_blocks.clear();
    } while (add_sources(function));
  }

  // Finds the blocks that not all threads come to, and adds values to the sources. True if there are new
  // ones.
  bool add_sources(llvm::Function& function) {
    bool found = false;
    for (const llvm::BasicBlock& block : function) {
      if (!result->hasDivergentTerminator(block))
        continue;
      const auto add = [&](const llvm::PHINode& phi) {
        if (!result->isDivergent(&phi))
          found |= sources.insert(&phi).second;
      };
      Blocks some = blocks_between(block);
      divergent_blocks.insert(some.begin(), some.end());
      some.insert(&block);
      for (const llvm::BasicBlock* way : some)
        for (const llvm::BasicBlock* next : llvm::successors(way))
          for (const llvm::PHINode& phi : next->phis())
            if (is_partly_undefined(phi, some))
              add(phi);
      for (const llvm::Cycle* cycle = cycles.getCycle(&block); cycle; cycle = cycle->getParentCycle()) {
        llvm::SmallVector<llvm::BasicBlock*, 4> exits;
        cycle->getExitBlocks(exits);
        for (const llvm::BasicBlock* exit : exits)
          for (const llvm::PHINode& phi : exit->phis())
            if (chooses(phi, *cycle, some))
              add(phi);
      }
    }
    return found;
  }

  using Blocks = llvm::SmallPtrSet<const llvm::BasicBlock*, 16>;

  // True if some of the blocks give the node a value, and others none.
  static bool is_partly_undefined(const llvm::PHINode& phi, const Blocks& some) {
    bool defined = false, undefined = false;
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i)
      if (some.contains(phi.getIncomingBlock(i)))
        (llvm::isa<llvm::UndefValue>(phi.getIncomingValue(i)) ? undefined : defined) = true;
    return defined && undefined;
  }

  // True if the node has different values for ways out of the cycle from some of its blocks.
  static bool chooses(const llvm::PHINode& phi, const llvm::Cycle& cycle, const Blocks& some) {
    const llvm::Value* value = nullptr;
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      const llvm::Value* const other = phi.getIncomingValue(i);
      if (!some.contains(phi.getIncomingBlock(i)) || !cycle.contains(phi.getIncomingBlock(i)))
        continue;
      if (value && value != other)
        return true;
      value = other;
    }
    return false;
  }

  // The blocks between a branch and the place where its ways meet again.
  Blocks blocks_between(const llvm::BasicBlock& branch) const {
    const auto* tree_node = post_dominators.getNode(&branch);
    const llvm::BasicBlock* const meet =
        tree_node && tree_node->getIDom() ? tree_node->getIDom()->getBlock() : nullptr;
    Blocks seen;
    llvm::SmallVector<const llvm::BasicBlock*, 16> left(llvm::successors(&branch));
    while (!left.empty()) {
      const llvm::BasicBlock* block = left.pop_back_val();
      if (block != meet && seen.insert(block).second)
        llvm::append_range(left, llvm::successors(block));
    }
    return seen;
  }

  Sources sources;
  llvm::DominatorTree dominators;
  llvm::PostDominatorTree post_dominators;
  llvm::CycleInfo cycles;
  llvm::TargetTransformInfo target;
  std::optional<llvm::UniformityInfo> result;
  Blocks divergent_blocks;
};

Uniformity::Uniformity(llvm::Function& function, llvm::ArrayRef<const llvm::Value*> sources)
    : analyses_(std::make_unique<Analyses>(function, sources)) {}
Uniformity::~Uniformity() = default;

bool Uniformity::varies(const llvm::Value& value) const {
  return analyses_->result->isDivergent(&value);
}

bool Uniformity::branch_varies(const llvm::BasicBlock& block) const {
  return analyses_->result->hasDivergentTerminator(block);
}

const llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& Uniformity::divergent_blocks() const {
  return analyses_->divergent_blocks;
}

} // namespace xaas::cpukernel
