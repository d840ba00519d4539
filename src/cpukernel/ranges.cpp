// Problem: kernels compare the thread's index with bounds, and LLVM vectorizes what is behind such a
// condition with masks, and what it chooses with gathers.
//
//     if (i < n) {                     region(x): i = i0 + x
//       w = i == 0 ? i : i - 1;
//       b[i] = a[w] + a[i];
//     }
//
// becomes three loops over the threads of a row, of which the second takes the time and has neither:
//
//     first = max(0, 1 - i0), last = min(size, n - i0)            bounds
//     for x in 0 .. first: region(x)
//     for x in first .. last: b[i] = a[i - 1] + a[i]              core
//     for x in last .. size: region(x)                            (here with i >= n: nothing)
//
// Approach: a comparison of an affine value with stride 1 or -1 (affine.h) with one that is the same for the
// whole row has one outcome on each side of a number, which is computed before the loop. The core is where
// all comparisons have the outcome that has more code behind it, or that chooses what varies with the thread.
// With a single comparison, its outcome outside of the core is known, too: often, nothing is left to do
// there. The same holds for several comparisons that must all be true to enter the same code, perhaps in
// several places, written as `&&` or as branches to one place. Then a row has three kinds of threads (x from
// 1 to 14 of 16; w is limited to `low`):
//
//     if (x >= 1 && x <= 14) { w = x - 1 < low ? low : x - 1; b[x] = a[w]; done = true; } else done = false;
//
//     for x outside of 1 .. 14: done = false                      other
//     for x in 1 .. 14 with x - 1 < low: region(x)
//     for x in 1 .. 14 with x - 1 >= low: b[x] = a[x - 1] ...     core
//
// Where the region begins with a branch that all threads take the same way, only the comparisons on the way
// taken count.
//
// Each number is computed in 64 bits, and rows in which an index of 32 bits would wrap are not split.
//
// Rejected: LLVM's passes for this (IRCE, LoopBoundSplit). They expect bounds checks that never fail, or a
// single condition, and prove that nothing wraps, instead of asking.
#include "ranges.h"
#include "affine.h"
#include "regions.h"

#include <llvm/ADT/PointerIntPair.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace xaas::cpukernel {

namespace {

using Predicate = llvm::CmpInst::Predicate;

// Ways of a branch that all threads of the row take alike: a bit for each successor.
using Ways = unsigned;
constexpr Ways no_way = 0, both_ways = 3;

// A comparison of `varying`, of stride 1 or -1, with `fixed`.
struct Condition {
  llvm::Instruction* instruction; // a comparison; or a minimum or maximum, which is `varying` in the core
  llvm::Value *varying, *fixed;
  Predicate predicate;     // that holds in the core: varying PREDICATE fixed
  bool outcome = true;     // of the instruction, in the core
  Ways matter = both_ways; // on which anything depends on the outcome
  Ways must_hold = no_way; // on which threads that fail it run `other`
};

// A branch, and its successor that is taken if a condition does not hold.
struct Gate {
  llvm::BranchInst* branch;
  unsigned closed;
  llvm::BasicBlock* aside() const { return branch->getSuccessor(closed); }
  llvm::BasicBlock* inside() const { return branch->getSuccessor(1 - closed); }
  bool operator==(const Gate&) const = default;
};

class Splitter {
public:
  Splitter(llvm::Function& region, unsigned place, bool single_threads)
      : region_(region), place_(region, place), single_threads_(single_threads), values_(place_),
        dominators_(region) {}

  Row run() {
    for (llvm::Instruction& instruction : llvm::instructions(region_)) {
      if (auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction))
        add(*comparison);
      else if (auto* limit = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction))
        add(*limit);
    }
    if (conditions_.empty())
      return {};
    const bool is_single = conditions_.size() == 1 && is_bound(conditions_.front());
    Gates gates;
    if (is_single)
      conditions_.front().must_hold = both_ways;
    else
      gates = find_gates();
    Row row;
    row.is_exhaustive = is_single;
    row.bounds = make_bounds();
    row.core = make_copy(true);
    if (is_single)
      row.other = make_copy(false);
    else if (!gates.empty())
      row.other = make_copy_without(gates);
    return row;
  }

private:
  // True if the outcome is the opposite one for all threads outside of the core.
  static bool is_bound(const Condition& condition) {
    return llvm::isa<llvm::ICmpInst>(condition.instruction) &&
           condition.predicate != llvm::CmpInst::ICMP_NE && condition.predicate != llvm::CmpInst::ICMP_EQ;
  }

  void add(llvm::ICmpInst& comparison) {
    if (!comparison.getOperand(0)->getType()->isIntegerTy() || (comparison.isEquality() && !single_threads_))
      return;
    std::optional<Condition> condition =
        order(comparison, comparison.getOperand(0), comparison.getOperand(1), comparison.getPredicate());
    if (!condition)
      return;
    std::optional<bool> outcome;
    if (comparison.isEquality())
      outcome = comparison.getPredicate() == llvm::CmpInst::ICMP_NE;
    else
      outcome = wanted(comparison, 8);
    if (!outcome)
      return;
    condition->outcome = *outcome;
    if (!*outcome)
      condition->predicate = llvm::CmpInst::getInversePredicate(condition->predicate);
    conditions_.push_back(*condition);
  }

  // The core is where a limit does not count.
  void add(llvm::MinMaxIntrinsic& limit) {
    if (!limit.getType()->isIntegerTy())
      return;
    for (unsigned i = 0; i < 2; ++i)
      if (std::optional<Condition> condition =
              order(limit, limit.getArgOperand(i), limit.getArgOperand(1 - i), limit.getPredicate());
          condition && condition->varying == limit.getArgOperand(i)) {
        conditions_.push_back(*condition);
        return;
      }
  }

  std::optional<Condition> order(llvm::Instruction& instruction, llvm::Value* left, llvm::Value* right,
                                 Predicate predicate) {
    const std::optional<Affine> a = values_.find(left), b = values_.find(right);
    if (!a || !b || left->getType()->getIntegerBitWidth() > 64)
      return {};
    const auto is_unit = [](const Affine& form) { return std::abs(form.coefficient) == 1; };
    if (is_unit(*a) && b->coefficient == 0)
      return Condition{&instruction, left, right, predicate};
    if (is_unit(*b) && a->coefficient == 0)
      return Condition{&instruction, right, left, llvm::CmpInst::getSwappedPredicate(predicate)};
    return {};
  }

  // The outcome of a condition that leads to more code, or to a value that varies. Nothing if neither does.
  std::optional<bool> wanted(llvm::Value& condition, unsigned depth) {
    using namespace llvm::PatternMatch;
    for (llvm::User* user : condition.users()) {
      auto* instruction = llvm::cast<llvm::Instruction>(user);
      std::optional<bool> outcome;
      llvm::Value *a = nullptr, *b = nullptr;
      if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(instruction)) {
        outcome = weight(*branch, 0) >= weight(*branch, 1);
      } else if (depth == 0) {
        continue;
      } else if (match(instruction, m_Not(m_Specific(&condition)))) {
        outcome = wanted(*instruction, depth - 1);
        if (outcome)
          outcome = !*outcome;
      } else if (match(instruction, m_LogicalAnd(m_Value(a), m_Value(b)))) {
        if (wanted(*instruction, depth - 1).value_or(false))
          outcome = true;
      } else if (match(instruction, m_LogicalOr(m_Value(a), m_Value(b)))) {
        if (!wanted(*instruction, depth - 1).value_or(true))
          outcome = false;
      } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(instruction);
                 select && select->getCondition() == &condition) {
        const bool first = varies(select->getTrueValue()), second = varies(select->getFalseValue());
        outcome = first || !second;
      }
      if (outcome)
        return outcome;
    }
    return {};
  }

  using Gates = std::vector<Gate>;

  // The branches that a value closes if it is `closing`, whatever else they depend on.
  static Gates gates_of(llvm::Value& value, bool closing) {
    using namespace llvm::PatternMatch;
    Gates gates;
    llvm::SmallSetVector<llvm::PointerIntPair<llvm::Value*, 1, bool>, 8> seen;
    seen.insert({&value, closing});
    for (size_t i = 0; i < seen.size(); ++i) {
      llvm::Value* const each = seen[i].getPointer();
      const bool closes = seen[i].getInt();
      for (llvm::User* user : each->users()) {
        if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(user)) {
          if (const Gate gate{branch, closes ? 0U : 1U}; !llvm::is_contained(gates, gate))
            gates.push_back(gate);
        } else if (match(user, m_Not(m_Specific(each)))) {
          seen.insert({user, !closes});
        } else if (closes ? match(user, m_LogicalOr(m_Value(), m_Value()))
                          : match(user, m_LogicalAnd(m_Value(), m_Value()))) {
          seen.insert({user, closes});
        }
      }
    }
    return gates;
  }

  // True if both gates have the same code behind them: the second one directly follows the first, and when
  // it is closed, the thread goes on as if the first one were.
  static bool are_in_series(const Gate& first, const Gate& second) {
    const llvm::BasicBlock* const block = second.branch->getParent();
    if (first.inside() != block || !block->getSinglePredecessor() || first.aside() != second.aside() ||
        first.inside() == first.aside() || second.inside() == second.aside())
      return false;
    const auto has_effect = [](const llvm::Instruction& instruction) {
      return !instruction.isTerminator() && instruction.mayHaveSideEffects();
    };
    return llvm::none_of(*block, has_effect) && llvm::all_of(first.aside()->phis(), [&](llvm::PHINode& phi) {
             return phi.getIncomingValueForBlock(first.branch->getParent()) ==
                    phi.getIncomingValueForBlock(block);
           });
  }

  // Replaces each gate by the first one of its series.
  static void join_series(std::vector<std::pair<Condition*, Gates>>& conditions) {
    Gates all;
    for (const auto& [condition, gates] : conditions)
      for (const Gate& gate : gates)
        if (!llvm::is_contained(all, gate))
          all.push_back(gate);
    const auto before = [&](const Gate& gate) {
      return llvm::find_if(all, [&](const Gate& each) { return are_in_series(each, gate); });
    };
    const auto first_of = [&](Gate gate) {
      for (auto found = before(gate); found != all.end(); found = before(gate))
        gate = *found; // control reaches it earlier, so the search ends
      return gate;
    };
    for (auto& [condition, gates] : conditions)
      llvm::transform(gates, gates.begin(), first_of);
  }

  // The branch that comes before everything else, if all threads of the row take it the same way.
  llvm::BranchInst* find_fork() {
    llvm::BasicBlock* block = &region_.getEntryBlock();
    while (llvm::BasicBlock* const next = block->getSingleSuccessor()) {
      if (next->getSinglePredecessor() != block)
        return nullptr;
      block = next;
    }
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (!branch || branch->getSuccessor(0) == branch->getSuccessor(1) || varies(branch->getCondition()))
      return nullptr;
    return branch;
  }

  // The ways of the fork on which a block runs.
  Ways ways_of(const llvm::BasicBlock& block) const {
    for (unsigned way = 0; fork_ && way < 2; ++way)
      if (dominators_.dominates(llvm::BasicBlockEdge(fork_->getParent(), fork_->getSuccessor(way)), &block))
        return 1U << way;
    return both_ways;
  }

  // The ways on which anything depends on a value.
  Ways ways_of_users(const llvm::Instruction& value) const {
    Ways result = no_way;
    llvm::SmallSetVector<const llvm::Instruction*, 8> seen;
    seen.insert(&value);
    for (size_t i = 0; i < seen.size() && result != both_ways; ++i)
      for (const llvm::Use& use : seen[i]->uses()) {
        const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
        const Ways here = ways_of(phi ? *phi->getIncomingBlock(use) : *user->getParent());
        // A division runs on both ways, even if only one of them needs its result. So does a guarded one,
        // whose guard may be a condition: the core has its outcome on both ways, so it must hold on both.
        if (here == both_ways && !phi && llvm::isSafeToSpeculativelyExecute(user))
          seen.insert(user);
        else
          result |= here;
      }
    return result;
  }

  using ClosedBy = std::vector<std::pair<Condition*, Gates>>;

  // Branches on a way that the same conditions close. Marks these conditions.
  Gates find_gates(const ClosedBy& closing, Ways way) const {
    Gates common;
    const auto on_way = [&](const Gates& gates) {
      Gates result;
      llvm::copy_if(gates, std::back_inserter(result),
                    [&](const Gate& gate) { return (ways_of(*gate.branch->getParent()) & way) != 0; });
      return result;
    };
    for (const auto& [condition, gates] : closing) {
      Gates shared;
      for (const Gate& gate : on_way(gates))
        if (common.empty() || llvm::is_contained(common, gate))
          shared.push_back(gate);
      if (!shared.empty())
        common = std::move(shared);
    }
    for (const auto& [condition, gates] : closing)
      if (!common.empty() && llvm::all_of(common, [&gates = gates](const Gate& gate) {
            return llvm::is_contained(gates, gate);
          }))
        condition->must_hold |= way;
    return common;
  }

  Gates find_gates() {
    ClosedBy closing;
    for (Condition& condition : conditions_)
      if (is_bound(condition)) {
        Gates gates = gates_of(*condition.instruction, !condition.outcome);
        if (!gates.empty())
          closing.emplace_back(&condition, std::move(gates));
      }
    join_series(closing);
    fork_ = find_fork();
    // Gates behind the place where the ways meet again are on both.
    const auto is_on_both = [this](const Gate& gate) {
      return ways_of(*gate.branch->getParent()) == both_ways;
    };
    if (llvm::any_of(closing, [&](const auto& each) { return llvm::any_of(each.second, is_on_both); }))
      fork_ = nullptr;
    if (!fork_)
      return find_gates(closing, both_ways);
    for (Condition& condition : conditions_)
      condition.matter = ways_of_users(*condition.instruction);
    Gates gates = find_gates(closing, 1);
    llvm::append_range(gates, find_gates(closing, 2));
    return gates;
  }

  bool varies(llvm::Value* value) {
    const std::optional<Affine> form = values_.find(value);
    return !form || form->coefficient != 0;
  }

  // Instructions that run only if a branch takes the way.
  size_t weight(const llvm::BranchInst& branch, unsigned way) {
    const llvm::BasicBlock* const start = branch.getSuccessor(way);
    if (!start->getSinglePredecessor())
      return 0;
    size_t result = 0;
    for (const llvm::BasicBlock& block : region_)
      if (dominators_.dominates(start, &block))
        result += block.size();
    return result;
  }

  llvm::Function* make_copy(bool is_core) const {
    llvm::ValueToValueMapTy map;
    llvm::Function* const copy = copy_region(region_, is_core ? ".core" : ".other", map);
    for (const Condition& condition : conditions_) {
      auto* instruction =
          llvm::cast<llvm::Instruction>(static_cast<llvm::Value*>(map[condition.instruction]));
      llvm::Value* known = nullptr;
      if (!llvm::isa<llvm::ICmpInst>(condition.instruction))
        known = instruction->getOperand(condition.varying == condition.instruction->getOperand(0) ? 0 : 1);
      else
        known = llvm::ConstantInt::getBool(region_.getContext(), condition.outcome == is_core);
      instruction->replaceAllUsesWith(known);
      instruction->eraseFromParent();
    }
    return copy;
  }

  llvm::Function* make_copy_without(const Gates& gates) const {
    llvm::ValueToValueMapTy map;
    llvm::Function* const copy = copy_region(region_, ".other", map);
    for (const Gate& gate : gates) {
      auto* branch = llvm::cast<llvm::BranchInst>(static_cast<llvm::Value*>(map[gate.branch]));
      branch->setCondition(llvm::ConstantInt::getBool(region_.getContext(), gate.closed == 0));
    }
    return copy;
  }

  llvm::Function* make_bounds() {
    llvm::LLVMContext& context = region_.getContext();
    llvm::Type *const word = llvm::Type::getInt32Ty(context), *const flag = llvm::Type::getInt1Ty(context);
    llvm::StructType* const type = llvm::StructType::get(context, {word, word, word, word, flag});
    llvm::Function* const bounds = declare_like(region_, ".bounds", type, {word});
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", bounds));
    size_ = builder.CreateZExt(bounds->getArg(bounds->arg_size() - 1), builder.getInt64Ty());
    llvm::Value* const zero = builder.getInt64(0);
    first_ = zero;
    last_ = size_;
    ExactRow row(values_, builder, size_);
    for (const Condition& condition : conditions_)
      narrow(condition, condition.matter & condition.must_hold, builder, row);
    llvm::Value* const outer_last = maximum(builder, minimum(builder, last_, size_), zero);
    llvm::Value* const outer_first = minimum(builder, maximum(builder, first_, zero), outer_last);
    for (const Condition& condition : conditions_)
      narrow(condition, condition.matter & ~condition.must_hold, builder, row);
    // If nothing is left for the core, it is at one of the outer threads.
    llvm::Value* const last = maximum(builder, minimum(builder, last_, outer_last), outer_first);
    llvm::Value* const first = minimum(builder, maximum(builder, first_, outer_first), last);
    llvm::Value* result = llvm::PoisonValue::get(type);
    unsigned place = 0;
    for (llvm::Value* number : {outer_first, first, last, outer_last})
      result = builder.CreateInsertValue(result, builder.CreateTrunc(number, word), place++);
    result = builder.CreateInsertValue(result, row.exact(), place);
    builder.CreateRet(result);
    return bounds;
  }

  static llvm::Value* minimum(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b) {
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  }
  static llvm::Value* maximum(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b) {
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  }

  void narrow(const Condition& condition, Ways ways, llvm::IRBuilder<>& builder, ExactRow& row) {
    if (ways == no_way)
      return;
    llvm::Value *const first = first_, *const last = last_;
    narrow(condition, builder, row);
    if (ways == both_ways)
      return;
    llvm::Value* const taken = row.first_of(*fork_->getCondition());
    first_ = builder.CreateSelect(taken, ways == 1 ? first_ : first, ways == 1 ? first : first_);
    last_ = builder.CreateSelect(taken, ways == 1 ? last_ : last, ways == 1 ? last : last_);
  }

  void narrow(const Condition& condition, llvm::IRBuilder<>& builder, ExactRow& row) {
    const bool is_signed = !llvm::CmpInst::isUnsigned(condition.predicate);
    llvm::Value* const start = row.first(condition.varying, is_signed);
    llvm::Value* const fixed = row.first(condition.fixed, is_signed);
    // start + x PREDICATE fixed, or start - x PREDICATE fixed: where x passes the number.
    Predicate predicate = condition.predicate;
    llvm::Value* number = builder.CreateSub(fixed, start);
    if (values_.find(condition.varying)->coefficient < 0) {
      number = builder.CreateNeg(number);
      predicate = llvm::CmpInst::getSwappedPredicate(predicate);
    }
    llvm::Value* const one = builder.getInt64(1);
    switch (llvm::ICmpInst::getSignedPredicate(predicate)) {
    case llvm::CmpInst::ICMP_SLT:
      last_ = minimum(builder, last_, number);
      break;
    case llvm::CmpInst::ICMP_SLE:
      last_ = minimum(builder, last_, builder.CreateAdd(number, one));
      break;
    case llvm::CmpInst::ICMP_SGT:
      first_ = maximum(builder, first_, builder.CreateAdd(number, one));
      break;
    case llvm::CmpInst::ICMP_SGE:
      first_ = maximum(builder, first_, number);
      break;
    default: { // all threads but one: those on the longer side of it
      llvm::Value* const before = number;
      llvm::Value* const after = builder.CreateSub(size_, builder.CreateAdd(number, one));
      llvm::Value* const is_before = builder.CreateICmpSGE(before, after);
      llvm::Value* const shortened = minimum(builder, last_, number);
      llvm::Value* const moved = maximum(builder, first_, builder.CreateAdd(number, one));
      last_ = builder.CreateSelect(is_before, shortened, last_);
      first_ = builder.CreateSelect(is_before, first_, moved);
    }
    }
  }

  llvm::Function& region_;
  Place place_;
  bool single_threads_;
  AffineValues values_;
  llvm::DominatorTree dominators_;
  std::vector<Condition> conditions_;
  llvm::BranchInst* fork_ = nullptr; // before all else, for all threads of the row alike; or none
  llvm::Value *size_ = nullptr, *first_ = nullptr, *last_ = nullptr;
};

} // namespace

Row split_row(llvm::Function& region, unsigned place, bool single_threads) {
  return Splitter(region, place, single_threads).run();
}

} // namespace xaas::cpukernel
