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

// Runs a region for all threads of a block, without more. `keep` builds what becomes of each one's result,
// and returns the stores that this needs.
void run_each(BlockCode& code, llvm::Function& region, bool vector_masks,
              const std::function<llvm::Instruction*(const Thread&, llvm::CallInst&)>& keep);

} // namespace xaas::cpukernel
