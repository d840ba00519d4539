// Vectors that not every x86-64 has, in a syntax tree.
#pragma once

namespace clang {
class CompilerInstance;
}

namespace xaas::frontdoor {

// Types that a source has, whether it uses them or not.
struct WideVectors {
  bool any = false;    // a vector of more than 128 bits, or a type that AVX passes like one
  bool hidden = false; // a structure with one in it that has less alignment; not in Clang's own headers
};

WideVectors wide_vectors(const clang::CompilerInstance& compiler);

} // namespace xaas::frontdoor
