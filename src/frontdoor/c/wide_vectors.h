// Vectors that not every x86-64 has, in a syntax tree.
#pragma once

namespace clang {
class CompilerInstance;
}

namespace xaas::frontdoor {

// False if no code outside Clang's own headers has a value with vectors of more than 128 bits, so that the
// features of the target do not decide how a function takes or returns one.
bool has_wide_vectors(const clang::CompilerInstance& compiler);

} // namespace xaas::frontdoor
