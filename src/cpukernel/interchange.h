// Loops of a region that run better inside out: the loop over the threads within them.
#pragma once

#include "nodes.h"

namespace xaas::cpukernel {

// Rewrites such loops of a region, and cuts it at their headers. Only the first node is left if there are
// none. `place`: the number of the region's parameter `block`.
Nodes find_loops(llvm::Function& region, unsigned place);

} // namespace xaas::cpukernel
