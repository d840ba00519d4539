// Problem: in a loop over the grid's threads, neighbouring threads have the same number of iterations but for
// the last one, so all threads of a row do not run the loop alike (interchange.cpp).
//
//     for (i = i0 + x; i < n; i += step)
//       sum += a[i];
//
// becomes two loops, the first of which all threads of the row run alike:
//
//     for (i = i0 + x, k = 0; i0 + k + size - 1 < n; i += step, k += step)
//       sum += a[i];
//     for (; i < n; i += step)
//       sum += a[i];
//
// Approach: if the row's last thread has another iteration, so have those before it. The sum is made in 64
// bits, so that it is right where an index of 32 bits wraps.
#include "trip_counts.h"
#include "affine.h"
#include "uniformity.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <optional>

namespace xaas::cpukernel {

namespace {

class TripCounts {
public:
  TripCounts(llvm::Function& region, unsigned place) : region_(region), place_(region, place) {}

  bool run() {
    llvm::DominatorTree dominators(region_);
    llvm::LoopInfo loops(dominators);
    if (loops.empty())
      return false;
    for (llvm::Loop* loop : loops)
      llvm::simplifyLoop(loop, &dominators, &loops, nullptr, nullptr, nullptr, false);
    const llvm::Value* const sources[] = {place_.x, place_.t};
    const Uniformity uniformity(region_, sources);
    std::vector<std::pair<llvm::Loop*, Condition>> chosen;
    for (llvm::Loop* loop : loops.getLoopsInPreorder())
      if (std::optional<Condition> condition = find(*loop, uniformity))
        chosen.push_back({loop, *condition});
    for (const auto& [loop, condition] : chosen)
      split(*loop, condition, loops, dominators);
    return !chosen.empty();
  }

private:
  // Threads with index < limit go on, or with index <= limit.
  struct Condition {
    llvm::PHINode* index;
    llvm::Value *step, *limit;
    bool is_signed, with_equal;
  };

  std::optional<Condition> find(const llvm::Loop& loop, const Uniformity& uniformity) {
    llvm::BasicBlock* const header = loop.getHeader();
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
    if (!loop.getLoopPreheader() || !loop.getLoopLatch() || loop.getExitingBlock() != header || !branch ||
        !branch->isConditional() || !uniformity.branch_varies(*header) ||
        uniformity.divergent_blocks().contains(loop.getLoopPreheader()) ||
        has_divergent_parent(loop, uniformity))
      return {};
    // The header runs again for the first iteration that not all threads have.
    if (llvm::any_of(*header, [](const llvm::Instruction& each) {
          return each.mayHaveSideEffects() || each.isVolatile() || each.isAtomic();
        }))
      return {};
    auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (!comparison || comparison->isEquality() || !comparison->getOperand(0)->getType()->isIntegerTy())
      return {};
    llvm::CmpInst::Predicate predicate = comparison->getPredicate();
    if (!loop.contains(branch->getSuccessor(0)))
      predicate = llvm::CmpInst::getInversePredicate(predicate);
    llvm::Value *index = comparison->getOperand(0), *limit = comparison->getOperand(1);
    if (llvm::ICmpInst::isGT(predicate) || llvm::ICmpInst::isGE(predicate)) {
      predicate = llvm::CmpInst::getSwappedPredicate(predicate);
      std::swap(index, limit);
    }
    auto* phi = llvm::dyn_cast<llvm::PHINode>(index);
    if (!phi || phi->getParent() != header || phi->getType()->getIntegerBitWidth() > 64 ||
        uniformity.varies(*limit))
      return {};
    const auto* next =
        llvm::dyn_cast<llvm::BinaryOperator>(phi->getIncomingValueForBlock(loop.getLoopLatch()));
    if (!next || next->getOpcode() != llvm::Instruction::Add)
      return {};
    llvm::Value* const step = next->getOperand(0) == phi ? next->getOperand(1) : next->getOperand(0);
    if (step == phi || uniformity.varies(*step))
      return {};
    AffineValues values(place_);
    const std::optional<Affine> first = values.find(phi->getIncomingValueForBlock(loop.getLoopPreheader()));
    if (!first || first->coefficient != 1 || !first->casts.empty())
      return {};
    return Condition{phi, step, limit, llvm::ICmpInst::isSigned(predicate),
                     llvm::CmpInst::isNonStrictPredicate(predicate)};
  }

  // Whether not all threads come to the loop as often.
  static bool has_divergent_parent(const llvm::Loop& loop, const Uniformity& uniformity) {
    for (const llvm::Loop* parent = loop.getParentLoop(); parent; parent = parent->getParentLoop())
      if (uniformity.divergent_blocks().contains(parent->getHeader()))
        return true;
    return false;
  }

  // In x; inlined, because what calls return counts as varying.
  llvm::Value* block_size(llvm::IRBuilder<>& builder) {
    llvm::CallInst* const call = builder.CreateCall(region_.getParent()->getFunction("xaas_size"),
                                                    {place_.block, builder.getInt32(0)});
    auto* const size = llvm::cast<llvm::Instruction>(builder.CreateFreeze(call));
    llvm::InlineFunctionInfo info;
    llvm::InlineFunction(*call, info);
    return size;
  }

  void split(llvm::Loop& loop, const Condition& condition, llvm::LoopInfo& loops,
             llvm::DominatorTree& dominators) {
    llvm::BasicBlock* const header = loop.getHeader();
    llvm::BasicBlock* const before = loop.getLoopPreheader();
    llvm::BasicBlock* const between = llvm::SplitEdge(before, header, &dominators, &loops);
    llvm::ValueToValueMapTy map;
    llvm::SmallVector<llvm::BasicBlock*, 8> blocks;
    llvm::cloneLoopWithPreheader(between, before, &loop, map, ".all", &loops, &dominators, blocks);
    llvm::remapInstructionsInBlocks(blocks, map);
    const auto copy = [&](llvm::Value* value) {
      const auto found = map.find(value);
      return found == map.end() ? value : static_cast<llvm::Value*>(found->second);
    };
    auto* const own_before = llvm::cast<llvm::BasicBlock>(copy(between));
    auto* const own_header = llvm::cast<llvm::BasicBlock>(copy(header));
    auto* const own_latch = llvm::cast<llvm::BasicBlock>(copy(loop.getLoopLatch()));
    before->getTerminator()->replaceSuccessorWith(between, own_before);

    // The row's first index, and what all have added to it.
    llvm::IRBuilder<> builder(own_before->getTerminator());
    AffineValues values(place_);
    llvm::Value* const initial = condition.index->getIncomingValueForBlock(between);
    values.find(initial);
    llvm::DenseMap<llvm::Value*, llvm::Value*> known;
    known[place_.t] = builder.CreateSub(place_.t, place_.x);
    llvm::Value* const first = builder.CreateFreeze(values.first(initial, builder, known));
    llvm::Value* const size = block_size(builder);
    llvm::Type* const type = first->getType();
    llvm::PHINode* const added = llvm::PHINode::Create(type, 2, "", own_header->begin());
    added->addIncoming(llvm::ConstantInt::get(type, 0), own_before);
    added->addIncoming(llvm::IRBuilder<>(own_latch->getTerminator()).CreateAdd(added, copy(condition.step)),
                       own_latch);

    auto* const branch = llvm::cast<llvm::BranchInst>(own_header->getTerminator());
    builder.SetInsertPoint(branch);
    llvm::Type* const wide = builder.getIntNTy(type->getIntegerBitWidth() == 64 ? 128 : 64);
    const auto extended = [&](llvm::Value* value) {
      return condition.is_signed ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
    };
    llvm::Value* const last =
        builder.CreateAdd(extended(builder.CreateAdd(first, added)),
                          builder.CreateSub(builder.CreateZExt(size, wide), llvm::ConstantInt::get(wide, 1)));
    llvm::Value* const all_go_on =
        builder.CreateICmp(condition.with_equal ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_SLT, last,
                           extended(copy(condition.limit)));
    llvm::BasicBlock* const body =
        branch->getSuccessor(llvm::is_contained(blocks, branch->getSuccessor(0)) ? 0 : 1);
    builder.CreateCondBr(all_go_on, body, between);
    branch->eraseFromParent();
    for (llvm::PHINode& phi : header->phis())
      phi.setIncomingValueForBlock(between, copy(&phi));
    dominators.recalculate(region_);
  }

  llvm::Function& region_;
  Place place_;
};

} // namespace

bool share_trip_counts(llvm::Function& region, unsigned place) {
  return TripCounts(region, place).run();
}

} // namespace xaas::cpukernel
