// Problem: a thread may wait for another one without a barrier. If threads run one after the other up to the
// next node, and the other one comes later, the loop does not end.
//
//     if (t < 32) { data[t] = f(t); __threadfence(); if (t == 0) *(volatile int*)&flag = 1; }
//     else { while (*(volatile int*)&flag == 0) ; g(data[t - 32]); }
//
// Approach: a loop waits if nothing that it does itself can end it: every condition by which it is left has
// the same outcome in the next iteration, unless a volatile or atomic read of an address that stays the same
// gives another value.
//
//     while (*flag == 0) ;                   waits
//     while (atomicCAS(&lock, 0, 1)) ;       waits, if the lock is kept to where a thread stops, or ends
//     do { old = seen; seen = atomicCAS(a, old, old + 1); } while (seen != old);
//                                            does not: it asks for another value each time
//     for (i = 0; i < n && !*stop; ++i)      does not: it counts
//     while (*p != 0) ++p;                   does not: it reads other memory
//     while (__any_sync(mask, !*flag)) ;     does not: within is a node, at which other threads run
//
// A thread stops at nodes and at the ends of loops in which it waits. A lock that is given back before is
// free whenever another thread runs, so that its loop ends at once, or when another block gives it back.
//
// A loop that writes memory that it may read does not count. To take a loop for one that waits by mistake
// costs time only, as the locks around it are then known as kept; the opposite mistake is a kernel that does
// not end.
#include "waits.h"
#include "meetings.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

namespace xaas::cpukernel {

namespace {

bool meets(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call && (meeting_of(*call) || is_counted_barrier(*call));
}

// The address that an instruction stores to; null if it is none.
const llvm::Value* written(const llvm::Instruction& instruction) {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return store->getPointerOperand();
  if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return update->getPointerOperand();
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return exchange->getPointerOperand();
  return nullptr;
}

class LoopReader {
public:
  LoopReader(const llvm::Loop& loop, const llvm::SmallPtrSetImpl<const llvm::Instruction*>& stops)
      : loop_(loop), stops_(stops) {}

  bool waits() {
    llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
    loop_.getExitingBlocks(exiting);
    for (const llvm::BasicBlock* block : exiting)
      if (!condition_stays(*block->getTerminator()))
        return false;
    if (reads_.empty())
      return false;
    for (const llvm::BasicBlock* block : loop_.blocks())
      for (const llvm::Instruction& instruction : *block)
        if (meets(instruction) || (!reads_.contains(&instruction) && may_end_it(instruction)))
          return false;
    return llvm::any_of(reads_,
                        [&](const llvm::Instruction* read) { return !takes_lock(*read) || is_kept(*read); });
  }

private:
  bool condition_stays(const llvm::Instruction& terminator) {
    const auto* jump = llvm::dyn_cast<llvm::BranchInst>(&terminator);
    const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&terminator);
    if (!choice && !(jump && jump->isConditional()))
      return false;
    return stays(jump ? jump->getCondition() : choice->getCondition());
  }

  // Whether a value is the same in each iteration, as long as reads give the same.
  bool stays(const llvm::Value* value) {
    if (loop_.isLoopInvariant(value))
      return true;
    const auto* instruction = llvm::cast<llvm::Instruction>(value);
    const auto [known, is_new] = known_.try_emplace(instruction, false);
    if (!is_new)
      return known->second; // false for one that depends on itself
    const bool result = find(*instruction);
    return known_[instruction] = result;
  }

  bool find(const llvm::Instruction& instruction) {
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction))
      return llvm::all_of(phi->blocks(), [&](const llvm::BasicBlock* from) {
        const llvm::Value* incoming = phi->getIncomingValueForBlock(from);
        const bool is_first = phi->getParent() == loop_.getHeader() && !loop_.contains(from);
        return is_first || incoming == phi || stays(incoming);
      });
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && !call->doesNotAccessMemory())
      return false;
    if (!llvm::all_of(instruction.operands(), [&](const llvm::Use& each) { return stays(each.get()); }))
      return false;
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      if (!only_reads(*update) && update->getOperation() != llvm::AtomicRMWInst::Xchg)
        return false;
    if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
      if (!loop_.isLoopInvariant(exchange->getCompareOperand()))
        return false; // it was read before, and is right unless another thread writes in between
    if (instruction.isAtomic() || instruction.isVolatile())
      reads_.insert(&instruction);
    return true;
  }

  // atomicAdd(p, 0) and the like.
  static bool only_reads(const llvm::AtomicRMWInst& update) {
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(update.getValOperand());
    switch (update.getOperation()) {
    case llvm::AtomicRMWInst::Add:
    case llvm::AtomicRMWInst::Sub:
    case llvm::AtomicRMWInst::Or:
    case llvm::AtomicRMWInst::Xor:
    case llvm::AtomicRMWInst::UMax:
      return number && number->isZero();
    case llvm::AtomicRMWInst::And:
    case llvm::AtomicRMWInst::UMin:
      return number && number->isMinusOne();
    default:
      return false;
    }
  }

  // Whether an instruction of the loop may change what it reads.
  bool may_end_it(const llvm::Instruction& instruction) const {
    if (!instruction.mayWriteToMemory() || llvm::isa<llvm::FenceInst>(instruction))
      return false;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
      return !load->isVolatile() && !load->isAtomic();
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction(); // of a library: prints, sleeps
      return !callee || !callee->isDeclaration();
    }
    const llvm::Value* to = written(instruction);
    return !to || llvm::any_of(reads_, [&](const llvm::Instruction* read) {
      return may_be_equal(llvm::getUnderlyingObject(to), llvm::getUnderlyingObject(read->getOperand(0)));
    });
  }

  static bool may_be_equal(const llvm::Value* a, const llvm::Value* b) {
    if (a == b)
      return true;
    const auto own = [](const llvm::Value* each) {
      return llvm::isa<llvm::AllocaInst>(each) && !llvm::PointerMayBeCaptured(each, true);
    };
    const auto is_variable = [](const llvm::Value* each) { return llvm::isa<llvm::GlobalVariable>(each); };
    return !own(a) && !own(b) && !(is_variable(a) && is_variable(b));
  }

  static bool takes_lock(const llvm::Instruction& read) {
    if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&read))
      return exchange->getCompareOperand() != exchange->getNewValOperand();
    const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&read);
    return update && update->getOperation() == llvm::AtomicRMWInst::Xchg;
  }

  // Whether a thread may come to a node, or to its end, before it writes to the lock again.
  bool is_kept(const llvm::Instruction& lock) const {
    const llvm::Value* place = written(lock)->stripPointerCasts();
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
    llvm::SmallVector<const llvm::Instruction*, 8> left = {lock.getNextNode()};
    while (!left.empty()) {
      const llvm::Instruction* each = left.pop_back_val();
      for (; each; each = each->getNextNode()) {
        const llvm::Value* to = written(*each);
        if (to && to->stripPointerCasts() == place)
          break;
        if (meets(*each) || stops_.contains(each) || llvm::isa<llvm::ReturnInst>(each))
          return true;
        if (each->isTerminator())
          for (const llvm::BasicBlock* next : llvm::successors(each->getParent()))
            if (seen.insert(next).second)
              left.push_back(&next->front());
      }
    }
    return false;
  }

  const llvm::Loop& loop_;
  const llvm::SmallPtrSetImpl<const llvm::Instruction*>& stops_;
  llvm::DenseMap<const llvm::Instruction*, bool> known_;
  llvm::SmallPtrSet<const llvm::Instruction*, 4> reads_; // whose values others may change
};

} // namespace

std::vector<llvm::BasicBlock*> find_waits(llvm::Function& function,
                                          const llvm::SmallPtrSetImpl<const llvm::Instruction*>& stops) {
  std::vector<llvm::BasicBlock*> ends;
  if (llvm::none_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
        return (instruction.isAtomic() || instruction.isVolatile()) && instruction.mayReadFromMemory();
      }))
    return ends;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  llvm::SmallPtrSet<const llvm::Instruction*, 16> all_stops(stops.begin(), stops.end());
  for (;;) { // a lock may be kept in a loop that waits
    ends.clear();
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (!LoopReader(*loop, all_stops).waits())
        continue;
      llvm::SmallVector<llvm::BasicBlock*, 4> latches;
      loop->getLoopLatches(latches);
      ends.insert(ends.end(), latches.begin(), latches.end());
    }
    const size_t known = all_stops.size();
    for (const llvm::BasicBlock* end : ends)
      all_stops.insert(end->getTerminator());
    if (all_stops.size() == known)
      return ends;
  }
}

} // namespace xaas::cpukernel
