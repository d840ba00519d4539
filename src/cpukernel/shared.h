// Shared variables of a module: which constants name them, and where each lies in a block's shared memory.
#pragma once

#include "normalise.h"
#include "regions.h"

#include <vector>

namespace llvm {
class Function;
class Module;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

bool is_shared(const llvm::Value* value, const SharedVariables& shared);

// A shared variable, or a constant with the address of one, also through the values of other constants.
bool names_shared(const llvm::Value* value, const SharedVariables& shared);

// Whether a function has such a constant that is not the variable itself.
bool names_shared_in_memory(const llvm::Function& function, const SharedVariables& shared);

// Clang initializes a local array with the addresses of shared variables by a copy of a constant, which
// becomes a store of each element.
void expand_copies(llvm::Module& module, const SharedVariables& shared);

// A copy of few bytes from one element of a shared variable to another one, as of a structure, becomes loads
// and stores.
void expand_moves(llvm::Function& function);

// Places the fixed variables that functions name and that have no place yet from `end` on. Returns the new
// end.
uint64_t place_fixed(const std::vector<llvm::Function*>& functions, const SharedVariables& shared,
                     SharedPlaces& places, uint64_t end);

// Likewise all variables: fixed ones, then the dynamic ones, which share one place at the end. Returns the
// bytes of the fixed ones.
uint64_t place_shared(const std::vector<llvm::Function*>& functions, const SharedVariables& shared,
                      SharedPlaces& places, uint64_t end);

} // namespace xaas::cpukernel
