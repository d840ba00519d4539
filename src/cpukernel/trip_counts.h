// Loops that the threads of a row leave one after the other.
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace xaas::cpukernel {

// Runs the iterations that all threads of a row have as a loop of their own, before the others. `place`: the
// number of the region's parameter `block`. Returns true if there is such a loop.
bool share_trip_counts(llvm::Function& region, unsigned place);

} // namespace xaas::cpukernel
