// Kernels that run whole blocks, and the table in which the run-time library finds them.
#pragma once

#include "quotients.h"
#include "ranges.h"
#include "regions.h"

namespace xaas::cpukernel {

// A kernel as the table lists it. Without `run` it is refused, for the reason. `checks`: describe_checks() of
// a kernel that has them.
struct Entry {
  std::string name;
  llvm::Function* run = nullptr;
  std::string reason;
  uint64_t shared_bytes = 0; // of fixed shared variables
  uint64_t thread_bytes = 0;
  uint32_t arrays = 0;
  bool fibers = false;
  llvm::Constant* checks = nullptr;
};

// Threads of a row that run the same way; in parts if there are any, which have segments where they divide.
struct CorePlan {
  llvm::Function* function = nullptr;
  Nodes nodes = {};
  Regions parts = {};
  std::vector<Segments> part_segments = {}; // of each part
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

// The table (library/block.h). `memory`: all variables, where kernels have checks.
struct TableContents {
  std::vector<Entry> kernels;
  std::vector<llvm::GlobalVariable*> variables, memory;
};

// Adds it, and a constructor that registers it.
void add_table(llvm::Module& module, const TableContents& contents, const std::string& image);

} // namespace xaas::cpukernel
