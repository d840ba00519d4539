// Kernels that run whole blocks.
#pragma once

#include "quotients.h"
#include "ranges.h"
#include "regions.h"

namespace xaas::cpukernel {

// Threads of a row that run the same way; in parts if there are any, which have segments where they divide.
struct CorePlan {
  llvm::Function* function = nullptr;
  Nodes nodes = {};
  Regions parts = {};
  std::vector<Segments> part_segments = {};     // of each part
  bool reads_rows = false;                      // at a distance, in a loop over the grid's threads
  std::vector<llvm::Function*> prefetches = {}; // of each part (prefetch.h), or null
};

// How the threads of a region run, row by row: all of them, or `split` where it is there. The core, or the
// whole row, has segments of its own where it divides.
struct RowPlan {
  Row split;
  CorePlan core;
  Segments segments;
  CorePlan segment_core;
};

// The value of a kernel's parameter. A launch passes a pointer to each argument. A structure is passed as a
// pointer to it in the kernel, too; a thread that changes its own copies it (facts.cpp).
llvm::Value* read_argument(llvm::IRBuilder<>& builder, const llvm::Argument& parameter,
                           llvm::Value& arguments);

// Makes void(ptr arguments, ptr block), which runs all threads of a block. Everything that a region calls has
// been inlined into it. `kernel` is only asked for its parameters. `rows`: of each region, if all threads
// agree on the nodes. `vector_masks`: as in Options.
llvm::Function* make_block_function(llvm::Function& kernel, const Nodes& nodes, const Regions& regions,
                                    const std::vector<RowPlan>& rows, bool vector_masks);

} // namespace xaas::cpukernel
