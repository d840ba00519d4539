// Problem: a value that crosses a barrier is stored for each thread, and what depends on it then depends on
// memory. This hurts the splitting of rows (ranges.cpp) most where a kernel keeps the outcome of a condition,
// as stencils do:
//
//     bool computed = false;
//     if (x >= i + 1 && x <= 14 - i) { computed = true; b[x] = (a[x - 1] + a[x + 1]) / 2; }
//     __syncthreads();
//     if (computed) a[x] = b[x];
//
// Approach: index arithmetic is cheaper than an array, so it is done again. A PHI node with two values
// becomes a choice: the first value if the branches on its path were all taken towards it, else the second.
//
//     if (x >= i + 1 && x <= 14 - i) { b[x] = (a[x - 1] + a[x + 1]) / 2; }
//     __syncthreads();
//     if (x >= i + 1 && x <= 14 - i) a[x] = b[x];
//
// The conditions of the branches need not be available where the PHI node is, so they are computed from
// values that are: those of its dominators. These still are what the branches saw. A value that dominates the
// node's block also dominates its immediate dominator, where the path starts, so if it were computed again,
// the branches would run again, too. And each branch runs once on the way to the node if it lies in the same
// cycles.
//
// Conditions may take more instructions than other values: a comparison of the thread's index is a bound of
// the loop over the threads, and costs nothing for each. Floating-point arithmetic is not done again: it may
// be contracted in one place and not in the other, and both computations must come to the same decision.
//
// Rejected: LLVM's folding of branches into conditions beforehand (SimplifyCFG). It stops at a block that
// does anything else, and would compute conditions early that cross nothing.
#include "recompute.h"
#include "library.h"
#include "outcome.h"
#include "uniformity.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/CycleAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace xaas::cpukernel {

namespace {

// The most instructions that are computed again rather than stored.
constexpr unsigned most_of_values = 12, most_of_conditions = 32;

// A PHI node as a choice.
struct Choice {
  std::vector<BranchOutcome> conditions; // all must hold for `chosen`, tested in this order
  llvm::Value *chosen, *other;
};

// Instructions that may still be computed again.
struct Budget {
  unsigned values = most_of_values, conditions = most_of_conditions;
};

} // namespace

struct Recomputation::Analyses {
  Analyses(llvm::Function& function, const Uniformity* uniformity)
      : uniformity(uniformity), dominators(function) {
    cycles.compute(function);
  }

  // The uniformity of a copy is not known.
  bool is_uniform(const llvm::Instruction& value) const {
    return uniformity && !uniformity->varies(value) && !copied.contains(&value) &&
           !uniformity->divergent_blocks().contains(value.getParent());
  }

  // Operands that stay when a value is computed again: constants, arguments, variables, uniform values.
  // `where`: the block of a PHI node that the value is for, if there is one.
  bool is_leaf(const llvm::Value& value, const llvm::BasicBlock* where) const {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (!instruction || llvm::isa<llvm::AllocaInst>(instruction))
      return true;
    return is_uniform(*instruction) &&
           (!where || dominators.properlyDominates(instruction->getParent(), where));
  }

  // The paths that matter to a PHI node: from its dominator `start` to its block `meet`, without passing
  // either again.
  struct Span {
    const llvm::BasicBlock *start, *meet;
  };

  // True if a thread at `from` may come to `target` within the span without passing `without`.
  static bool reaches(const llvm::BasicBlock& from, const llvm::BasicBlock& target,
                      const llvm::BasicBlock* without, const Span& span) {
    if (&from == without || &from == span.start)
      return false;
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen = {span.start, span.meet, without};
    llvm::SmallVector<const llvm::BasicBlock*, 16> left = {&from};
    while (!left.empty()) {
      const llvm::BasicBlock* const block = left.pop_back_val();
      if (block == &target)
        return true;
      if (seen.insert(block).second)
        llvm::append_range(left, llvm::successors(block));
    }
    return false;
  }

  // Adds the condition under which a thread comes from one block to another that it dominates. False if no
  // single outcome of the block's branch decides that.
  bool add_condition(llvm::BasicBlock& from, const llvm::BasicBlock& to, const Span& span,
                     std::vector<BranchOutcome>& conditions) const {
    const auto passes = [&](const llvm::BasicBlock* next) {
      return next == &to || !reaches(*next, *span.meet, &to, span);
    };
    if (llvm::all_of(llvm::successors(&from), passes))
      return true;
    auto* const branch = llvm::dyn_cast<llvm::BranchInst>(from.getTerminator());
    if (!branch || cycles.getCycle(&from) != cycles.getCycle(span.meet))
      return false;
    for (unsigned way = 0; way < 2; ++way)
      if (passes(branch->getSuccessor(way)) && !reaches(*branch->getSuccessor(1 - way), to, nullptr, span)) {
        conditions.push_back({branch->getCondition(), way == 0});
        return true;
      }
    return false;
  }

  // The conditions under which a thread comes from the PHI node's dominator to the node by this way.
  std::optional<std::vector<BranchOutcome>> conditions_of(const llvm::PHINode& phi, unsigned way) const {
    const auto* const meet = dominators.getNode(phi.getParent());
    auto* last = dominators.getNode(phi.getIncomingBlock(way));
    if (!meet || !meet->getIDom() || !last)
      return std::nullopt;
    const Span span{meet->getIDom()->getBlock(), meet->getBlock()};
    std::vector<BranchOutcome> conditions;
    // The last branch, if the block has one, leads to the node or elsewhere.
    auto* const branch = llvm::dyn_cast<llvm::BranchInst>(last->getBlock()->getTerminator());
    if (!branch || cycles.getCycle(last->getBlock()) != cycles.getCycle(span.meet))
      return std::nullopt;
    if (branch->isConditional())
      conditions.push_back({branch->getCondition(), branch->getSuccessor(0) == span.meet});
    for (const auto* block = last; block->getBlock() != span.start; block = block->getIDom())
      if (block == meet || !block->getIDom() || conditions.size() > most_of_conditions ||
          !add_condition(*block->getIDom()->getBlock(), *block->getBlock(), span, conditions))
        return std::nullopt;
    std::reverse(conditions.begin(), conditions.end());
    return conditions;
  }

  // Nothing if the node has more than two values, or if neither comes from one block alone.
  std::optional<Choice> choice_of(const llvm::PHINode& phi) const {
    for (unsigned way = 0; way < phi.getNumIncomingValues(); ++way) {
      llvm::Value* other = nullptr;
      bool has_two = true;
      for (unsigned i = 0; i < phi.getNumIncomingValues() && has_two; ++i) {
        if (i == way)
          continue;
        llvm::Value* const value = phi.getIncomingValue(i);
        has_two = phi.getIncomingBlock(i) != phi.getIncomingBlock(way) && (!other || other == value);
        other = value;
      }
      if (!has_two || !other)
        continue;
      if (std::optional<std::vector<BranchOutcome>> conditions = conditions_of(phi, way))
        return Choice{*std::move(conditions), phi.getIncomingValue(way), other};
    }
    return std::nullopt;
  }

  bool is_cheap(const llvm::Value& value, const llvm::BasicBlock* where, bool in_condition,
                llvm::SmallPtrSetImpl<const llvm::Value*>& known, Budget& budget) const {
    if (is_leaf(value, where) || !known.insert(&value).second)
      return true;
    const auto& instruction = llvm::cast<llvm::Instruction>(value);
    unsigned& left = in_condition ? budget.conditions : budget.values;
    if (left == 0)
      return false;
    --left;
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      const std::optional<Choice> choice = choice_of(*phi);
      const llvm::BasicBlock* const from = where ? where : phi->getParent();
      return choice && is_cheap(*choice->chosen, from, in_condition, known, budget) &&
             is_cheap(*choice->other, from, in_condition, known, budget) &&
             llvm::all_of(choice->conditions, [&](const BranchOutcome& outcome) {
               return is_cheap(*outcome.condition, from, true, known, budget);
             });
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = callee_of(*call);
      return callee && llvm::StringRef(intrinsic_name(*callee)).starts_with("read_ptx_sreg_") &&
             callee->doesNotAccessMemory();
    }
    if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::GetElementPtrInst, llvm::CmpInst,
                   llvm::SelectInst>(&instruction) ||
        !llvm::isSafeToSpeculativelyExecute(&instruction) ||
        (llvm::isa<llvm::BinaryOperator>(&instruction) && instruction.getType()->isFPOrFPVectorTy()))
      return false;
    return llvm::all_of(instruction.operands(), [&](const llvm::Use& operand) {
      return is_cheap(*operand, where, in_condition, known, budget);
    });
  }

  using Copies = llvm::SmallDenseMap<llvm::Value*, llvm::Value*, 16>;

  llvm::Value* copy_of(llvm::Value& value, const llvm::BasicBlock* where, llvm::BasicBlock::iterator at,
                       Copies& copies) {
    if (is_leaf(value, where))
      return &value;
    if (const auto known = copies.find(&value); known != copies.end())
      return known->second;
    llvm::Value* copy = nullptr;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&value)) {
      copy = copy_of_choice(*choice_of(*phi), where ? where : phi->getParent(), at, copies);
    } else {
      llvm::Instruction* const clone = llvm::cast<llvm::Instruction>(value).clone();
      for (llvm::Use& operand : clone->operands())
        operand.set(copy_of(*operand, where, at, copies));
      clone->insertBefore(at);
      copied.insert(clone);
      copy = clone;
    }
    copies[&value] = copy;
    return copy;
  }

  llvm::Value* copy_of_choice(const Choice& choice, const llvm::BasicBlock* where,
                              llvm::BasicBlock::iterator at, Copies& copies) {
    llvm::IRBuilder<llvm::ConstantFolder, llvm::IRBuilderCallbackInserter> builder(
        at->getContext(), llvm::ConstantFolder(),
        llvm::IRBuilderCallbackInserter([this](llvm::Instruction* made) { copied.insert(made); }));
    builder.SetInsertPoint(at->getParent(), at);
    llvm::Value* holds = nullptr;
    for (const BranchOutcome& outcome : choice.conditions) {
      llvm::Value* condition = copy_of(*outcome.condition, where, at, copies);
      if (!outcome.holds)
        condition = builder.CreateNot(condition);
      // A later condition may be poison where an earlier one does not hold.
      holds = holds ? builder.CreateLogicalAnd(holds, condition) : condition;
    }
    llvm::Value* const chosen = copy_of(*choice.chosen, where, at, copies);
    llvm::Value* const other = copy_of(*choice.other, where, at, copies);
    if (!holds)
      return chosen;
    const auto *one = llvm::dyn_cast<llvm::ConstantInt>(chosen),
               *zero = llvm::dyn_cast<llvm::ConstantInt>(other);
    if (one && zero && one->isOne() && zero->isZero())
      return builder.CreateZExt(holds, chosen->getType()); // folds with the truncation of a bool in memory
    return builder.CreateSelect(holds, chosen, other);
  }

  const Uniformity* uniformity;
  llvm::SmallPtrSet<const llvm::Value*, 16> copied;
  llvm::DominatorTree dominators;
  llvm::CycleInfo cycles;
};

Recomputation::Recomputation(llvm::Function& function, const Uniformity* uniformity)
    : analyses_(std::make_unique<Analyses>(function, uniformity)) {}
Recomputation::~Recomputation() = default;

bool Recomputation::is_uniform(const llvm::Instruction& value) const {
  return analyses_->is_uniform(value);
}

bool Recomputation::is_cheap(const llvm::Instruction& value) const {
  Budget budget;
  llvm::SmallPtrSet<const llvm::Value*, 16> known;
  return analyses_->is_cheap(value, nullptr, false, known, budget);
}

llvm::Value* Recomputation::copy_of(llvm::Instruction& value, llvm::BasicBlock::iterator at) {
  Analyses::Copies copies;
  return analyses_->copy_of(value, nullptr, at, copies);
}

} // namespace xaas::cpukernel
