// Problem: LLVM vectorizes innermost loops, and the loop over the threads contains those of the kernel.
//
//     for (k = 0; k < n; ++k)                    sum += a[k * m + i]: neighbouring threads read
//       sum += a[k * m + i];                     neighbouring elements, and one thread does not
//
// becomes a part of the region of its own, which all threads of a row run before any goes on:
//
//     for each x: sum[x] = 0
//     for (k = 0; k < n; ++k)
//       for each x: sum[x] += a[k * m + i0 + x]
//
// Approach: a node at the header of each loop that all threads run alike and that is worth it (regions.cpp
// makes the parts and the arrays). An index that a thread keeps and all increment alike (j += m) would become
// an array, too, and its uses gathers. It is the sum of its first value, which is computed again, and of a
// counter that is the same for all threads.
//
// A loop is worth it if threads access neighbouring elements more often than others, or access no memory and
// compute more than they keep. Interchanging all loops made LU decomposition five times slower: loops of a
// few iterations, which LLVM unrolls, stay.
#include "interchange.h"
#include "affine.h"
#include "quotients.h"
#include "uniformity.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <map>
#include <optional>

namespace xaas::cpukernel {

namespace {

// Loops with fewer iterations are unrolled.
constexpr unsigned few_iterations = 32;

// By how many bytes, or how much, values of neighbouring threads differ; for a decision on cost only, so
// wrapping is not considered.
class Strides {
public:
  Strides(const Uniformity& uniformity, const llvm::DominatorTree& dominators, const Place& place,
          const llvm::DataLayout& layout)
      : uniformity_(uniformity), dominators_(dominators), place_(place), layout_(layout) {}

  std::optional<int64_t> find(llvm::Value* value) {
    if (value == place_.x || value == place_.t)
      return 1;
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || !uniformity_.varies(*instruction))
      return 0;
    if (const auto found = known_.find(value); found != known_.end())
      return found->second;
    known_[value] = std::nullopt;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction))
      return of_phi(*phi);
    return known_[value] = find_new(*instruction);
  }

private:
  // What comes from outside of the loop is assumed for what comes from within, and checked.
  std::optional<int64_t> of_phi(llvm::PHINode& phi) {
    std::optional<int64_t> result;
    for (unsigned i = 0; i < phi.getNumIncomingValues() && !result; ++i)
      if (!dominators_.dominates(phi.getParent(), phi.getIncomingBlock(i)))
        result = find(phi.getIncomingValue(i));
    known_[&phi] = result;
    for (llvm::Value* incoming : phi.incoming_values())
      if (result && find(incoming) != result)
        result = known_[&phi] = std::nullopt;
    return result;
  }

  std::optional<int64_t> find_new(llvm::Instruction& instruction) {
    if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
      return of_address(*llvm::cast<llvm::GEPOperator>(address));
    if (llvm::isa<llvm::CastInst, llvm::FreezeInst>(instruction))
      return find(instruction.getOperand(0));
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      if (llvm::isa<llvm::Constant>(select->getTrueValue()) && find(select->getCondition()) == 0)
        return find(select->getFalseValue()); // divisions.cpp
      const std::optional<int64_t> a = find(select->getTrueValue());
      return a == find(select->getFalseValue()) ? a : std::nullopt;
    }
    if (!llvm::isa<llvm::BinaryOperator>(instruction) || !instruction.getType()->isIntegerTy())
      return {};
    if (const std::optional<Quotient> quotient = find_quotient(llvm::cast<llvm::BinaryOperator>(instruction));
        quotient && find(quotient->dividend) == 1 && find(quotient->divisor) == 0)
      return quotient->is_remainder ? 1 : 0; // quotients.h
    const std::optional<int64_t> a = find(instruction.getOperand(0)), b = find(instruction.getOperand(1));
    if (!a || !b)
      return {};
    const auto* factor = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1));
    const bool is_small = factor && factor->getValue().getSignificantBits() < 24;
    switch (instruction.getOpcode()) {
    case llvm::Instruction::Add:
      return *a + *b;
    case llvm::Instruction::Sub:
      return *a - *b;
    case llvm::Instruction::Mul:
      return is_small ? std::optional(*a * factor->getSExtValue()) : std::nullopt;
    case llvm::Instruction::Shl:
      return is_small && factor->getZExtValue() < 24 ? std::optional(*a << factor->getZExtValue())
                                                     : std::nullopt;
    default:
      return {};
    }
  }

  std::optional<int64_t> of_address(llvm::GEPOperator& address) {
    std::optional<int64_t> sum = find(address.getPointerOperand());
    llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
    llvm::APInt constant(64, 0);
    if (!sum || !address.collectOffset(layout_, 64, variable, constant))
      return {};
    for (const auto& [index, size] : variable) {
      const std::optional<int64_t> stride = find(index);
      if (!stride)
        return {};
      *sum += *stride * size.getSExtValue();
    }
    return sum;
  }

  const Uniformity& uniformity_;
  const llvm::DominatorTree& dominators_;
  Place place_;
  const llvm::DataLayout& layout_;
  std::map<const llvm::Value*, std::optional<int64_t>> known_;
};

class LoopFinder {
public:
  LoopFinder(llvm::Function& region, unsigned place)
      : region_(region), place_(region, place), dominators_(region), loops_(dominators_),
        assumptions_(region), functions_(region.getParent()->getTargetTriple()), library_(functions_),
        evolution_(region, library_, assumptions_, dominators_, loops_) {}

  Nodes run() {
    Nodes nodes;
    nodes.nodes.push_back({&region_.getEntryBlock(), Meeting::split});
    if (loops_.empty())
      return nodes;
    for (llvm::Loop* loop : loops_)
      llvm::simplifyLoop(loop, &dominators_, &loops_, &evolution_, &assumptions_, nullptr, false);
    const llvm::Value* const sources[] = {place_.x, place_.t};
    uniformity_ = std::make_unique<Uniformity>(region_, sources);
    strides_.emplace(*uniformity_, dominators_, place_, region_.getDataLayout());
    std::vector<llvm::Loop*> chosen;
    for (llvm::Loop* loop : loops_)
      choose(*loop, chosen);
    for (llvm::Loop* loop : chosen)
      share_counters(*loop);
    for (llvm::Loop* loop : chosen) {
      llvm::BasicBlock* const header = loop->getHeader();
      nodes.nodes.push_back({llvm::SplitBlock(header, header->getFirstNonPHIIt()), Meeting::split});
    }
    return nodes;
  }

private:
  // Innermost loops first; true if the loop or one within it was chosen.
  bool choose(llvm::Loop& loop, std::vector<llvm::Loop*>& chosen) {
    bool within = false;
    for (llvm::Loop* inner : loop.getSubLoops())
      within |= choose(*inner, chosen);
    if (within)
      return true;
    if (!loop.getLoopPreheader() || !loop.getLoopLatch() ||
        uniformity_->divergent_blocks().contains(loop.getHeader()))
      return false;
    const unsigned iterations = evolution_.getSmallConstantTripCount(&loop);
    if ((iterations > 0 && iterations <= few_iterations) || !is_worth_it(loop))
      return false;
    chosen.push_back(&loop);
    return true;
  }

  bool is_worth_it(const llvm::Loop& loop) {
    size_t neighbours = 0, others = 0, computed = 0, kept = 0;
    for (const llvm::PHINode& phi : loop.getHeader()->phis())
      kept += uniformity_->varies(phi) && !counter(loop, phi);
    for (llvm::BasicBlock* block : loop.blocks())
      for (llvm::Instruction& instruction : *block) {
        if (instruction.isAtomic() || instruction.isVolatile())
          return false;
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            call && !llvm::isa<llvm::IntrinsicInst>(call))
          return false;
        if (!uniformity_->varies(instruction) && !llvm::isa<llvm::StoreInst>(instruction))
          continue;
        ++computed;
        llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
        if (!pointer)
          continue;
        const std::optional<int64_t> stride = strides_->find(pointer);
        const auto size = static_cast<int64_t>(
            region_.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue());
        if (stride && (*stride == size || *stride == -size))
          ++neighbours;
        else if (stride != 0)
          ++others;
      }
    if (neighbours + others > 0)
      return neighbours > others;
    return computed >= 4 * kept + 4;
  }

  // What all threads add to a value in each iteration of a loop; null if they do not.
  llvm::Value* counter(const llvm::Loop& loop, const llvm::PHINode& phi) const {
    if (phi.getNumIncomingValues() != 2)
      return nullptr;
    auto* next = llvm::dyn_cast<llvm::Instruction>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
    if (!next)
      return nullptr;
    llvm::Value* step = nullptr;
    if (next->getOpcode() == llvm::Instruction::Add && phi.getType()->isIntegerTy()) {
      for (unsigned i = 0; i < 2; ++i)
        if (next->getOperand(i) == &phi)
          step = next->getOperand(1 - i);
    } else if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(next);
               address && address->getNumIndices() == 1 && address->getPointerOperand() == &phi) {
      step = address->getOperand(1);
    }
    if (!step || step == &phi || uniformity_->varies(*step))
      return nullptr;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(step);
    return !instruction || dominators_.dominates(instruction, next) ? step : nullptr;
  }

  // Values that vary and that all threads increment alike.
  void share_counters(llvm::Loop& loop) {
    for (llvm::PHINode& phi : llvm::make_early_inc_range(loop.getHeader()->phis())) {
      llvm::Value* const step = uniformity_->varies(phi) ? counter(loop, phi) : nullptr;
      if (!step)
        continue;
      auto* next = llvm::cast<llvm::Instruction>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
      llvm::Value* const first = phi.getIncomingValueForBlock(loop.getLoopPreheader());
      llvm::PHINode* const count = llvm::PHINode::Create(step->getType(), 2, "", phi.getIterator());
      llvm::Value* const increased = llvm::IRBuilder<>(next).CreateAdd(count, step);
      count->addIncoming(llvm::Constant::getNullValue(step->getType()), loop.getLoopPreheader());
      count->addIncoming(increased, loop.getLoopLatch());
      llvm::IRBuilder<> builder(&*loop.getHeader()->getFirstNonPHIIt());
      const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(next);
      const auto value = [&](llvm::IRBuilder<>& at, llvm::Value* counted) {
        return address ? at.CreateGEP(address->getSourceElementType(), first, counted)
                       : at.CreateAdd(first, counted);
      };
      llvm::Value* const now = value(builder, count);
      llvm::IRBuilder<> after(next->getParent(), std::next(next->getIterator()));
      llvm::Value* const then = value(after, increased);
      next->replaceAllUsesWith(then);
      phi.replaceAllUsesWith(now);
      next->eraseFromParent();
      phi.eraseFromParent();
    }
  }

  llvm::Function& region_;
  Place place_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::AssumptionCache assumptions_;
  llvm::TargetLibraryInfoImpl functions_;
  llvm::TargetLibraryInfo library_;
  llvm::ScalarEvolution evolution_;
  std::unique_ptr<Uniformity> uniformity_;
  std::optional<Strides> strides_;
};

} // namespace

Nodes find_loops(llvm::Function& region, unsigned place) {
  return LoopFinder(region, place).run();
}

} // namespace xaas::cpukernel
