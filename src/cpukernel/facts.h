// What holds in every launch of a kernel, said so that LLVM can use it.
#pragma once

namespace llvm {
class Function;
} // namespace llvm

namespace xaas::cpukernel {

// All threads get one pointer to a structure that the launch passes by value. If a thread may change its
// own, or give its address away, it gets a copy.
void copy_changed_structures(llvm::Function& kernel);

// Reading such a structure gives the same at any time, which lets LLVM read it once. It must be called after
// SROA, which makes a copied structure reads of its members.
void mark_structures(llvm::Function& kernel);

// blockIdx.x * blockDim.x + threadIdx.x does not wrap: the run-time library launches no grid with more
// threads in a dimension than a signed number of 32 bits has.
void mark_indices(llvm::Function& kernel);

} // namespace xaas::cpukernel
