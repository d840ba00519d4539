// Problem: whether a function takes a vector of 256 bits in a register depends on AVX, even if it is hidden
// in a union, so that the module shows no vector. <immintrin.h> declares such vectors, and sources include it
// that use nothing of it, because a header of the project does.
//
// Approach: if the syntax tree has such a type at all, look for values of it, or with it inside, in the code
// and the declarations outside Clang's own headers. A function of these headers that is used has a target
// attribute, which the module shows (known.cpp).
//
// Rejected: the types of the module, because of the union.
#include "c/wide_vectors.h"

#include "c/code_walk.h"

#include <xaas/known/preprocess.h>

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <llvm/ADT/DenseMap.h>

namespace xaas::frontdoor {

namespace {

constexpr uint64_t width_of_all = 128;

bool is_wide(const clang::ASTContext& context, const clang::Type& type) {
  if (const auto* vector = llvm::dyn_cast<clang::VectorType>(&type))
    return vector->getElementType()->isDependentType() || context.getTypeSize(vector) > width_of_all;
  return llvm::isa<clang::DependentVectorType, clang::DependentSizedExtVectorType, clang::MatrixType>(type);
}

class VectorWalk : public CodeWalk {
public:
  explicit VectorWalk(const clang::CompilerInstance& compiler)
      : context_(compiler.getASTContext()), options_(compiler.getHeaderSearchOpts()) {
    walk(*context_.getTranslationUnitDecl());
  }
  bool found() const { return found_; }

private:
  bool visit(const clang::Decl& declaration) override {
    if (found_ || is_of_clang(declaration.getLocation()))
      return false;
    if (const auto* value = llvm::dyn_cast<clang::ValueDecl>(&declaration))
      look_at(value->getType());
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration))
      look_at(function->getReturnType());
    return !found_;
  }
  bool visit(const clang::Stmt& statement) override {
    if (const auto* expression = llvm::dyn_cast<clang::Expr>(&statement))
      look_at(expression->getType());
    return !found_;
  }

  bool is_of_clang(clang::SourceLocation location) {
    if (location.isInvalid()) // Clang's own declarations
      return false;
    const clang::SourceManager& sources = context_.getSourceManager();
    const clang::FileID file = sources.getFileID(sources.getExpansionLoc(location));
    const auto [known, is_new] = of_clang_.try_emplace(file, false);
    if (is_new)
      known->second = known::is_header_of_clang(sources, file, options_);
    return known->second;
  }

  void look_at(clang::QualType type) { found_ |= !type.isNull() && holds_wide(*type.getCanonicalType()); }

  // True if a value of the type has such a vector in it. A pointer to one does not.
  bool holds_wide(const clang::Type& type) {
    const auto [known, is_new] = holds_wide_.try_emplace(&type, false);
    if (is_new) {
      const bool holds = is_wide(context_, type) || has_wide_part(type);
      holds_wide_[&type] = holds;
      return holds;
    }
    return known->second;
  }

  bool has_wide_part(const clang::Type& type) {
    if (const auto* array = llvm::dyn_cast<clang::ArrayType>(&type))
      return holds_wide(*array->getElementType().getCanonicalType());
    if (const auto* atomic = llvm::dyn_cast<clang::AtomicType>(&type))
      return holds_wide(*atomic->getValueType().getCanonicalType());
    const clang::RecordDecl* record = type.getAsRecordDecl();
    record = record ? record->getDefinition() : nullptr;
    if (!record || record->isDependentType())
      return false;
    if (const auto* derived = llvm::dyn_cast<clang::CXXRecordDecl>(record))
      for (const clang::CXXBaseSpecifier& base : derived->bases())
        if (holds_wide(*base.getType().getCanonicalType()))
          return true;
    return llvm::any_of(record->fields(), [this](const clang::FieldDecl* field) {
      return holds_wide(*field->getType().getCanonicalType());
    });
  }

  const clang::ASTContext& context_;
  const clang::HeaderSearchOptions& options_;
  llvm::DenseMap<clang::FileID, bool> of_clang_;
  llvm::DenseMap<const clang::Type*, bool> holds_wide_;
  bool found_ = false;
};

} // namespace

bool has_wide_vectors(const clang::CompilerInstance& compiler) {
  const clang::ASTContext& context = compiler.getASTContext();
  return llvm::any_of(context.getTypes(), [&](const clang::Type* type) { return is_wide(context, *type); }) &&
         VectorWalk(compiler).found();
}

} // namespace xaas::frontdoor
