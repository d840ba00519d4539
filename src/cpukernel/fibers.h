// Kernels whose threads have stacks of their own: the general form.
#pragma once

#include "normalise.h"
#include "regions.h"

#include <cstdint>
#include <string>

namespace llvm {
class Function;
} // namespace llvm

namespace xaas::cpukernel {

// Why a function needs fibers, apart from what it calls; empty if it does not.
std::string need_of_fibers(llvm::Function& function);

// What a function has that fibers cannot do either; empty if there is nothing.
std::string obstacle_to_fibers(llvm::Function& function, const SharedVariables& shared);

// Changes a function into one that runs on a fiber, with the same parameters. `places`: of the fixed shared
// variables that it names.
void run_on_fiber(llvm::Function& function, const SharedVariables& shared, const SharedPlaces& places);

// Makes void(ptr arguments, ptr block) for a kernel that runs on fibers, whose body is used up.
// `shared_bytes`: of its fixed shared variables, after which the dynamic ones lie.
llvm::Function* make_fiber_kernel(llvm::Function& kernel, uint64_t shared_bytes);

} // namespace xaas::cpukernel
