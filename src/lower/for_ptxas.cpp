// Problem: PTX is not machine code. NVIDIA's assembler (ptxas, or the driver) optimizes it once more, and
// misses forms that NVIDIA's own compiler never writes. LLVM prefers two of these. On an H200, one kernel
// lost 34 % of its speed to the first, and another 58 % to the second:
//
// Loops. ptxas unrolls a loop again and loads in advance for several iterations, but only if the loop ends
// with a branch to its first block under a plain predicate. LLVM prefers `==` in the condition that ends it:
//
//     setp.eq.b32 %p4, %r21, %r26;            setp.ne.b32 %p4, %r21, %r26;
//     @%p4 bra  after;              becomes   @%p4 bra  loop;
//     bra.uni   loop;                       after:
//   after:
//
// NVPTX has no reverseBranchCondition(), so no later pass mends that. A negated predicate (`@!%p4`) does not
// help.
//
// Copies of structures. The back end makes a pair of load and store for each word. A load does not pass an
// earlier store, which may write the same memory, so each word waits for memory again. Source and destination
// of a memcpy() are equal or apart, so all loads can come first:
//
//     ld.global.b32 %r6, [%rd2+4];            ld.global.nc.b32 %r6, [%rd2];
//     st.global.b32 [%rd1+4], %r6;  becomes   ld.global.nc.b32 %r7, [%rd2+4];
//     ld.global.b32 %r7, [%rd2];              st.global.b32 [%rd1], %r6;
//     st.global.b32 [%rd1], %r7;              st.global.b32 [%rd1+4], %r7;
//
// Loads in IR are also read through the cache for constant data if the parameter is `const __restrict__`.
//
// Rejected: rewriting the PTX, which would need a second parser of it; unrolling further in LLVM, which
// cannot know how many registers are left.
#include "for_ptxas.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace xaas::lower {

namespace {

constexpr uint64_t largest_copy = 64, most_accesses = 16; // a thread holds all of it in registers
constexpr uint64_t widest_access = 16;

bool branches_back(llvm::BasicBlock& latch, const llvm::BasicBlock* header) {
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(latch.getTerminator());
  if (!branch || !branch->isConditional() || branch->getSuccessor(1) != header ||
      branch->getSuccessor(0) == header)
    return false;
  auto* compare = llvm::dyn_cast<llvm::CmpInst>(branch->getCondition());
  if (!compare)
    return false;
  if (!compare->hasOneUse()) {
    compare = llvm::cast<llvm::CmpInst>(compare->clone());
    compare->insertBefore(branch->getIterator());
    branch->setCondition(compare);
  }
  compare->setPredicate(compare->getInversePredicate());
  branch->swapSuccessors();
  return true;
}

bool turn_loops(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  bool changed = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::SmallVector<llvm::BasicBlock*> latches;
    loop->getLoopLatches(latches);
    for (llvm::BasicBlock* latch : latches)
      changed |= branches_back(*latch, loop->getHeader());
  }
  return changed;
}

// Bytes of one access.
uint64_t width_of(const llvm::MemCpyInst& copy) {
  return std::min(
      {copy.getSourceAlign().valueOrOne().value(), copy.getDestAlign().valueOrOne().value(), widest_access});
}

void copy_by_loads(llvm::MemCpyInst& copy, uint64_t size) {
  llvm::IRBuilder<> builder(&copy);
  builder.CollectMetadataToCopy(&copy, {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias});
  const llvm::Align from = copy.getSourceAlign().valueOrOne(), to = copy.getDestAlign().valueOrOne();
  const uint64_t aligned = width_of(copy);
  struct Piece {
    uint64_t offset;
    llvm::Value* value;
  };
  std::vector<Piece> pieces;
  for (uint64_t offset = 0; offset < size;) {
    uint64_t width = aligned;
    while (width > size - offset)
      width /= 2;
    llvm::Type* const word = builder.getIntNTy(static_cast<unsigned>(std::min<uint64_t>(width, 4)) * 8);
    llvm::Type* const type =
        width <= 4 ? word : llvm::FixedVectorType::get(word, static_cast<unsigned>(width / 4));
    llvm::Value* const place =
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), copy.getRawSource(), offset);
    pieces.push_back({offset, builder.CreateAlignedLoad(type, place, llvm::commonAlignment(from, offset))});
    offset += width;
  }
  for (const Piece& piece : pieces) {
    llvm::Value* const place =
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), copy.getRawDest(), piece.offset);
    builder.CreateAlignedStore(piece.value, place, llvm::commonAlignment(to, piece.offset));
  }
  copy.eraseFromParent();
}

bool expand_copies(llvm::Function& function) {
  bool changed = false;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* const copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction);
    if (!copy || copy->isVolatile())
      continue;
    const auto* const length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
    if (!length || length->isZero() || length->getValue().ugt(largest_copy) ||
        length->getZExtValue() > most_accesses * width_of(*copy))
      continue;
    copy_by_loads(*copy, length->getZExtValue());
    changed = true;
  }
  return changed;
}

bool suit(llvm::Function& function) {
  if (function.isDeclaration() || function.hasOptNone())
    return false;
  const bool copies = expand_copies(function);
  return turn_loops(function) || copies;
}

} // namespace

llvm::PreservedAnalyses ForPtxas::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  return suit(function) ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

void suit_ptxas(llvm::Module& module) {
  for (llvm::Function& function : module)
    suit(function);
}

} // namespace xaas::lower
