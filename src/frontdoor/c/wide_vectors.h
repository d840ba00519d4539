// Vectors that not every x86-64 has, in a syntax tree.
#pragma once

#include <llvm/ADT/DenseSet.h>

namespace clang {
class CompilerInstance;
class FunctionDecl;
} // namespace clang

namespace xaas::frontdoor {

// The canonical declarations of the functions that a module defines or declares.
using EmittedFunctions = llvm::DenseSet<const clang::FunctionDecl*>;

// False if no code outside Clang's own headers has a value with vectors of more than 128 bits, so that the
// features of the target do not decide how a function takes or returns one.
bool has_wide_vectors(const clang::CompilerInstance& compiler, const EmittedFunctions& emitted);

} // namespace xaas::frontdoor
