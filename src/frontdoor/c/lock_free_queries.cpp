// Problem: `__atomic_always_lock_free(16, 0)` is true with cx16, and false without. The front end folds it
// into a constant, so nothing in the module tells that it asked. And almost every C++ source has such calls.
//
//     template<> inline void _Sp_counted_base<_S_atomic>::_M_release() noexcept {  // <memory>
//       constexpr bool __lock_free = __atomic_always_lock_free(sizeof(long long), 0) && ...
//
//     template<typename T> struct atomic {                                          // <atomic>
//       static constexpr bool is_always_lock_free = __atomic_always_lock_free(sizeof(M), 0);
//
// The first asks about 8 bytes, whatever the source does. The second asks only where something uses the
// constant, about the size of that type.
//
// Approach: the calls in the code that the syntax tree keeps, where a template's calls can be found with the
// sizes that they had. Everything else is left to a count: the caller compares the calls that were found with
// the words among the tokens, and if any is missing, takes it that the source asks about wide atomics. So a
// gap in the walk costs a compile, and is never wrong.
//
// Rejected: the mark of a declaration that is used, because <memory> sets it.
#include "c/lock_free_queries.h"

#include "c/code_walk.h"

#include <xaas/known/preprocess.h>

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclFriend.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/DenseSet.h>

namespace xaas::frontdoor {

namespace {

constexpr uint64_t size_of_all = 8; // bytes; every x86-64 has atomics of this size

class QueryWalk : public CodeWalk {
public:
  explicit QueryWalk(const clang::ASTContext& context) : context_(context) {
    walk(*context.getTranslationUnitDecl());
  }
  LockFreeQueries result() const { return {written_.size(), wide_}; }

private:
  // The instantiations of lambdas, default arguments and friends need not be where their templates are.
  bool visit(const clang::Decl& declaration) override {
    const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&declaration);
    return !(record && record->isLambda()) && !llvm::isa<clang::ParmVarDecl, clang::FriendDecl>(declaration);
  }
  bool visit(const clang::Stmt& statement) override {
    if (const auto* call = llvm::dyn_cast<clang::CallExpr>(&statement); call && is_query(*call))
      look_at(*call);
    return !llvm::isa<clang::LambdaExpr>(statement);
  }

  static bool is_query(const clang::CallExpr& call) {
    const auto* callee = llvm::dyn_cast_or_null<clang::FunctionDecl>(call.getCalleeDecl());
    return callee && callee->getIdentifier() && known::is_lock_free_query(*callee->getIdentifier());
  }

  void look_at(const clang::CallExpr& call) {
    written_.insert(call.getBeginLoc());
    const clang::Expr* size = call.getNumArgs() > 0 ? call.getArg(0) : nullptr;
    if (size && size->isValueDependent()) // nothing was evaluated yet
      return;
    // Where constants are required, `__builtin_is_constant_evaluated()` is true.
    for (const bool in_constant : {false, true})
      wide_ |= !size || !is_small(*size, in_constant);
  }

  bool is_small(const clang::Expr& size, bool in_constant) const {
    clang::Expr::EvalResult value;
    return size.EvaluateAsInt(value, context_, clang::Expr::SE_NoSideEffects, in_constant) &&
           value.Val.getInt().ule(size_of_all);
  }

  const clang::ASTContext& context_;
  llvm::DenseSet<clang::SourceLocation> written_; // the instantiations of a call lie where it does
  bool wide_ = false;
};

// Clang declares a builtin at its first use.
bool names_query(const clang::ASTContext& context) {
  for (const auto& word : context.Idents)
    if (known::is_lock_free_query(*word.getValue()) &&
        !context.getTranslationUnitDecl()->lookup(word.getValue()).empty())
      return true;
  return false;
}

} // namespace

LockFreeQueries lock_free_queries(const clang::ASTContext& context) {
  if (!names_query(context))
    return {};
  return QueryWalk(context).result();
}

} // namespace xaas::frontdoor
