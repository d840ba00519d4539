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
// Approach: the calls that the syntax tree keeps. Clang keeps every function body and every initializer that
// it instantiates, so a template's calls can be found with the sizes that they had. Everything else is left
// to a count: the caller compares the calls that were found with the words among the tokens, and if any is
// missing, takes it that the source asks about wide atomics. So a gap in the walk costs a compile, and is
// never wrong.
//
// Rejected: the mark of a declaration that is used, because <memory> sets it; RecursiveASTVisitor, which also
// visits types, whose expressions are not kept in all their instantiations, and takes ten times as long.
#include "c/lock_free_queries.h"

#include <xaas/known/preprocess.h>

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

namespace xaas::frontdoor {

namespace {

constexpr uint64_t size_of_all = 8; // bytes; every x86-64 has atomics of this size

class Walk {
public:
  explicit Walk(const clang::ASTContext& context) : context_(context) {
    walk_members(*context.getTranslationUnitDecl());
  }
  LockFreeQueries result() const { return {written_.size(), wide_}; }

private:
  void walk_members(const clang::DeclContext& context) {
    for (const clang::Decl* declaration : context.decls())
      walk(*declaration);
  }

  void walk(const clang::Decl& declaration) {
    if (!seen_.insert(&declaration).second || is_lambda(declaration))
      return;
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration))
      walk_code(function->getBody());
    else if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
             variable && !llvm::isa<clang::ParmVarDecl>(variable))
      walk_code(variable->getAnyInitializer());
    else if (const auto* generic = llvm::dyn_cast<clang::RedeclarableTemplateDecl>(&declaration))
      walk_template(*generic);
    if (const auto* context = llvm::dyn_cast<clang::DeclContext>(&declaration))
      walk_members(*context);
  }

  static bool is_lambda(const clang::Decl& declaration) {
    const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&declaration);
    return record && record->isLambda();
  }

  void walk_template(const clang::RedeclarableTemplateDecl& generic) {
    if (const clang::NamedDecl* pattern = generic.getTemplatedDecl())
      walk(*pattern);
    if (const auto* function = llvm::dyn_cast<clang::FunctionTemplateDecl>(&generic))
      walk_each(function->specializations());
    else if (const auto* record = llvm::dyn_cast<clang::ClassTemplateDecl>(&generic))
      walk_each(record->specializations());
    else if (const auto* variable = llvm::dyn_cast<clang::VarTemplateDecl>(&generic))
      walk_each(variable->specializations());
  }
  template <typename Specializations> void walk_each(const Specializations& specializations) {
    for (const clang::Decl* each : specializations)
      walk(*each);
  }

  // With a list of what is left, because generated code can nest deeper than the stack.
  void walk_code(const clang::Stmt* code) {
    if (!code || !walked_.insert(code).second)
      return;
    llvm::SmallVector<const clang::Stmt*, 64> left = {code};
    while (!left.empty()) {
      const clang::Stmt* statement = left.pop_back_val();
      if (!statement || llvm::isa<clang::LambdaExpr>(statement))
        continue;
      if (const auto* call = llvm::dyn_cast<clang::CallExpr>(statement); call && is_query(*call))
        look_at(*call);
      llvm::append_range(left, statement->children());
    }
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
    clang::Expr::EvalResult value;
    wide_ |= !size || !size->EvaluateAsInt(value, context_) || value.Val.getInt().ugt(size_of_all);
  }

  const clang::ASTContext& context_;
  llvm::DenseSet<const clang::Decl*> seen_;
  llvm::DenseSet<const clang::Stmt*> walked_; // redeclarations share a body
  llvm::DenseSet<clang::SourceLocation> written_;
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
  return Walk(context).result();
}

} // namespace xaas::frontdoor
