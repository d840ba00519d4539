// Problem: LLVM 22 takes a check that an index of 32 bits does not wrap for one of the index's lower bits, too,
// and then vectorizes table[i % 8] as table[i] (llvm-project issue 191382, mended by its pull request 191498).
//
//     for (i = 0; i < n; ++i) out[row + i] = table[i & 7];     row + i may wrap: a check; and i & 7 always does
//
// Approach: XaasLlvm.cmake puts this function in the place of LLVM's in a copy of its library. It asks LLVM's
// own, but for the wrong case. So code for loops without the fault stays what Clang's is.
//
// Rejected: hiding such masks from the vectorizer. It changes the code of all loops with masks, and lld's own
// pipeline for link-time optimization has no place for it.
#include <llvm/Analysis/ScalarEvolutionExpressions.h>

// SCEVWrapPredicate::implies(): LLVM's own, and the one that LLVM calls. A definition as a member would bring a
// second table of virtual functions with it.
extern "C" bool xaas_llvm_implies(const llvm::SCEVWrapPredicate*, const llvm::SCEVPredicate*,
                                  llvm::ScalarEvolution&);
extern "C" bool
implies(const llvm::SCEVWrapPredicate*, const llvm::SCEVPredicate*, llvm::ScalarEvolution&) __asm__(
    "_ZNK4llvm17SCEVWrapPredicate7impliesEPKNS_13SCEVPredicateERNS_15ScalarEvolutionE");

bool implies(const llvm::SCEVWrapPredicate* known, const llvm::SCEVPredicate* asked,
             llvm::ScalarEvolution& evolution) {
  const auto width = [&](const llvm::SCEVWrapPredicate& predicate) {
    return evolution.getTypeSizeInBits(predicate.getExpr()->getType());
  };
  const auto* wrap = llvm::dyn_cast<llvm::SCEVWrapPredicate>(asked);
  return !(wrap && width(*known) > width(*wrap)) && xaas_llvm_implies(known, asked, evolution);
}
