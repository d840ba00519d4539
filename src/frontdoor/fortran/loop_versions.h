// flang's versioned loops, brought into one order.
#pragma once

namespace llvm {
class Module;
}

namespace xaas::frontdoor {

// At -O3 flang makes two versions of a loop over assumed-shape arrays, one of them for arrays that are
// contiguous, and chooses between them by comparing each array's stride with its element's size. It goes
// through the arrays in the order of a hash table of addresses, so that each run may give another order of
// equal instructions. This puts the comparisons, and what is loaded for the contiguous version, into the
// order of their own descriptions. It moves only instructions without effects, and only within runs of them
// around such a choice.
void order_loop_versions(llvm::Module& module);

} // namespace xaas::frontdoor
