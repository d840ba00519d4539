// The threads of a block, row by row.
#pragma once

#include "block_code.h"
#include "kernel.h"

namespace xaas::cpukernel {

// Runs a region for all threads of a block, of which all come to it. Results are those of the last thread
// that ran. `vector_masks`: as in Options. `parameters`: how many the kernel has, which are the region's
// first ones.
void run_rows(BlockCode& code, llvm::Function& region, const RowPlan& plan, const Results& results,
              unsigned parameters, bool vector_masks);

// Whether a region's threads are independent as far as the code shows, so that LLVM may vectorize over them.
bool is_parallel(const llvm::Function& region);

// Runs a region whose threads are independent for all threads of a block, in loops without cores and
// segments. `keep` stores a thread's result, and returns the store, which is its only access of memory.
void run_each(BlockCode& code, llvm::Function& region, bool vector_masks,
              const std::function<llvm::Instruction*(const Thread&, llvm::CallInst&)>& keep);

} // namespace xaas::cpukernel
