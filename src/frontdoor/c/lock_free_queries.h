// Clang's builtins that ask whether atomic operations of a size are lock-free, in a syntax tree.
#pragma once

namespace clang {
class ASTContext;
}

namespace xaas::frontdoor {

struct LockFreeQueries {
  // Calls as written in the source; the instantiations of a template are one call.
  unsigned written = 0;
  // A call, instantiated or not, asks about a size that may need a feature, or about one that is not
  // constant.
  bool wide = false;
};

// Looks at the bodies of functions and the initializers of variables, which keep what templates become. Does
// not count a call elsewhere, such as in a template's arguments, a concept or a lambda: there, an
// instantiation may leave no trace.
LockFreeQueries lock_free_queries(const clang::ASTContext& context);

} // namespace xaas::frontdoor
