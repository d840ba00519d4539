// The threads of a row for which a region's conditions have one outcome.
#pragma once

#include <string>

namespace llvm {
class Function;
} // namespace llvm

namespace xaas::cpukernel {

// For threads of a row, from `first` up to before `last`, `core` does the same as the region; for those
// before `outer_first` and from `outer_last` on, so does `other`. Without `other`, there are no outer
// ones: outer_first is 0, and outer_last the length of the row. `bounds` has the region's parameters, where x
// and t are those of the row's first thread, and the length of the row; it returns {outer_first, first, last,
// outer_last, whether that is so}, in ascending order. All are null if the region has no such conditions.
struct Row {
  llvm::Function* bounds = nullptr;
  llvm::Function* core = nullptr;
  llvm::Function* other = nullptr;
  bool is_exhaustive = false; // all threads are the core's or the other's
  bool is_idle = false;       // the other has no effects; only its result may be needed
};

// `place`: the number of the region's parameter `block`. `single_threads`: also where a condition is true for
// one thread alone. The new functions are inlined where they are called.
Row split_row(llvm::Function& region, unsigned place, bool single_threads);

} // namespace xaas::cpukernel
