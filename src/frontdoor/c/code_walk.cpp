#include "c/code_walk.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclFriend.h>
#include <llvm/ADT/SmallVector.h>

namespace xaas::frontdoor {

void CodeWalk::walk_members(const clang::DeclContext& context) {
  for (const clang::Decl* declaration : context.decls())
    walk(*declaration);
}

void CodeWalk::walk(const clang::Decl& declaration) {
  if (!declarations_.insert(&declaration).second || !visit(declaration))
    return;
  walk_code_of(declaration);
  if (const auto* generic = llvm::dyn_cast<clang::RedeclarableTemplateDecl>(&declaration)) {
    if (const clang::NamedDecl* pattern = generic->getTemplatedDecl())
      walk(*pattern);
    walk_instantiations(*generic);
  } else if (const auto* of_friend = llvm::dyn_cast<clang::FriendDecl>(&declaration)) {
    if (const clang::NamedDecl* declared = of_friend->getFriendDecl())
      walk(*declared);
  } else if (const auto* context = llvm::dyn_cast<clang::DeclContext>(&declaration)) {
    walk_members(*context);
  }
}

void CodeWalk::walk_instantiations(const clang::RedeclarableTemplateDecl& generic) {
  const auto walk_each = [this](const auto& instantiations) {
    for (const clang::Decl* each : instantiations)
      walk(*each);
  };
  if (const auto* function = llvm::dyn_cast<clang::FunctionTemplateDecl>(&generic))
    walk_each(function->specializations());
  else if (const auto* record = llvm::dyn_cast<clang::ClassTemplateDecl>(&generic))
    walk_each(record->specializations());
  else if (const auto* variable = llvm::dyn_cast<clang::VarTemplateDecl>(&generic))
    walk_each(variable->specializations());
}

void CodeWalk::walk_code_of(const clang::Decl& declaration) {
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration))
    walk_code(function->getBody());
  if (const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(&declaration))
    for (const clang::CXXCtorInitializer* initializer : constructor->inits())
      walk_code(initializer->getInit());
  if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration))
    walk_code(variable->getAnyInitializer());
  if (const auto* field = llvm::dyn_cast<clang::FieldDecl>(&declaration))
    walk_code(field->getInClassInitializer());
}

// With a list of what is left, because generated code can nest deeper than the stack.
void CodeWalk::walk_code(const clang::Stmt* code) {
  if (!code || !code_.insert(code).second)
    return;
  llvm::SmallVector<const clang::Stmt*, 64> left = {code};
  while (!left.empty()) {
    const clang::Stmt* statement = left.pop_back_val();
    if (statement && visit(*statement))
      llvm::append_range(left, statement->children());
  }
}

} // namespace xaas::frontdoor
