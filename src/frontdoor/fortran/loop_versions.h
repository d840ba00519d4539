// Brings flang's versioned loops into one order.
#pragma once

namespace llvm {
class Module;
}

namespace xaas::frontdoor {

// At -O3, flang makes two versions of a loop over assumed-shape arrays, one of them for contiguous arrays,
// and chooses by comparing each array's stride with its element size. It visits the arrays in the order of a
// hash table of addresses, so each run may order equal instructions differently. This sorts the comparisons,
// and the loads for the contiguous version, by their own descriptions. It moves only instructions without
// effects, within runs of these around such a choice.
void order_loop_versions(llvm::Module& module);

} // namespace xaas::frontdoor
