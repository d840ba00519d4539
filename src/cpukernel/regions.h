// The code between nodes, as functions of one thread.
#pragma once

#include "nodes.h"

#include <llvm/Transforms/Utils/ValueMapper.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llvm {
class AllocaInst;
class Function;
class GlobalVariable;
} // namespace llvm

namespace xaas::cpukernel {

// Numbers of nodes as regions return them: a node's index, and its meeting in the highest two bits.
uint32_t node_code(const Nodes& nodes, size_t index);
constexpr uint32_t ended_code = 3u << 30; // the thread has ended

// An array in a block's arena with an element for each of its threads.
struct ThreadArray {
  uint32_t number; // of arrays before it
  uint64_t before; // bytes of a thread in these
  uint64_t size;   // bytes of one element
};

struct Regions {
  // One for each node: the kernel's own parameters; then block, x, y, z and t (library/thread.c); then values
  // that are the same for all threads and cross from one region to another. Returns a structure: the code of
  // the node at which the thread stops, and these values for the next region.
  std::vector<llvm::Function*> functions;
  std::vector<llvm::Type*> uniform; // types of these values
  uint64_t thread_bytes = 0;        // of the arena, for each thread
  uint32_t arrays = 0;
  // Masked execution:
  ThreadArray nodes{}, masks{}, run{};
};

// Where each shared variable lies in a block's shared memory.
using SharedPlaces = std::map<llvm::GlobalVariable*, uint64_t>;

// A function with a region's parameters and more, to be inlined as the region is.
llvm::Function* declare_like(llvm::Function& region, const char* suffix, llvm::Type* result,
                             llvm::ArrayRef<llvm::Type*> more = {});

// The same with the region's body. `map`: the region's values to the copy's.
llvm::Function* copy_region(llvm::Function& region, const char* suffix, llvm::ValueToValueMapTy& map,
                            llvm::ArrayRef<llvm::Type*> more = {});

// Makes the regions of a kernel that find_nodes() cut. The kernel's body is used up.
Regions make_regions(llvm::Function& kernel, Nodes& nodes, const SharedPlaces& places);

// The code of a node within a region, which no node of a kernel has.
uint32_t part_code(size_t index);

// Cuts a region again, for the threads of one row: at nodes to which all of them come. The parts have the
// region's parameters and uniform values of their own, and return the part's code or what the region returns,
// and then these values. Arrays are added to `whole`. The region's body is used up. `place`: the number of
// its parameter `block`.
Regions cut_region(llvm::Function& region, unsigned place, Nodes& nodes, Regions& whole);

} // namespace xaas::cpukernel
