// A walk over the code in a syntax tree.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/DenseSet.h>

namespace xaas::frontdoor {

// Visits every declaration, and every statement and expression in the bodies and initializers that the syntax
// tree keeps: Clang keeps what it makes of a template for each of its instantiations. Does not visit
// expressions in types, in arguments of templates and in concepts, which give no code, and of which Clang
// does not keep each instantiation. That is why this is not a RecursiveASTVisitor.
class CodeWalk {
public:
  virtual ~CodeWalk() = default;

protected:
  void walk(const clang::TranslationUnitDecl& unit) { walk_members(unit); }

private:
  // False skips the declaration or the statement with all that it contains.
  virtual bool visit(const clang::Decl& declaration) = 0;
  virtual bool visit(const clang::Stmt& statement) = 0;

  void walk(const clang::Decl& declaration);
  void walk_members(const clang::DeclContext& context);
  void walk_instantiations(const clang::RedeclarableTemplateDecl& generic);
  void walk_code_of(const clang::Decl& declaration);
  void walk_code(const clang::Stmt* code);

  llvm::DenseSet<const clang::Decl*> declarations_;
  llvm::DenseSet<const clang::Stmt*> code_; // redeclarations share a body
};

} // namespace xaas::frontdoor
