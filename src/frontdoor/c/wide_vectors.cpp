// Problem: whether a function takes a vector of 256 bits in a register depends on AVX, even if it is hidden
// in a union, so that the module shows no vector. <immintrin.h> declares such vectors, and sources include it
// that use nothing of it, because a header of the project does.
//
//     union u { double d[4]; v8 v; };           v8: a vector of 256 bits
//     double first(union u a);                  wide: takes a union with a vector in it
//     double (*table[])(union u) = {first};     wide: the type of a function
//     double second(union u *a);                not wide: a pointer
//
// Approach: if the syntax tree has such a type at all, look for values of it, or with it inside, and for
// functions that take or return it, in the code and the declarations outside Clang's own headers. A function
// that the module does not even declare has no effect, because Clang declares in the module what any code
// calls, also code that no walk sees (default arguments, clauses of OpenMP, vtables); headers for portable
// vectors are full of such functions. A function of Clang's headers that is used has a target attribute, which
// the module shows (known.cpp). A field counts where its structure is a value.
//
// AVX changes the convention of one more type: a union of more than 128 bits, because of its alignment, with
// a vector or a number of 128 bits in it.
//
// Rejected: the types of the module alone, because of unions, and of functions whose address is taken.
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

// Clang's types by what AVX has to do with them.
class Types {
public:
  explicit Types(const clang::ASTContext& context) : context_(context) {}

  // True if a value of the type has such a vector in it, or a function of the type takes or returns one.
  bool holds_wide(clang::QualType type) {
    const clang::Type& canonical = *type.getCanonicalType();
    const auto [known, is_new] = holds_wide_.try_emplace(&canonical, false);
    if (!is_new)
      return known->second;
    const bool holds = is_wide(canonical) || has_wide_part(canonical);
    return holds_wide_[&canonical] = holds;
  }

  bool is_wide(const clang::Type& type) {
    if (const auto* vector = llvm::dyn_cast<clang::VectorType>(&type))
      return vector->getElementType()->isDependentType() || context_.getTypeSize(vector) > width_of_all;
    const clang::RecordDecl* record = definition_of(type);
    if (record && record->isUnion())
      return context_.getTypeSize(&type) > width_of_all && holds_whole_register(type);
    return llvm::isa<clang::DependentVectorType, clang::DependentSizedExtVectorType, clang::MatrixType>(type);
  }

private:
  static const clang::RecordDecl* definition_of(const clang::Type& type) {
    const clang::RecordDecl* record = type.getAsRecordDecl();
    record = record ? record->getDefinition() : nullptr;
    return record && !record->isDependentType() && !record->isInvalidDecl() ? record : nullptr;
  }

  template <typename Predicate> static bool any_part(const clang::Type& type, const Predicate& holds) {
    if (const auto* array = llvm::dyn_cast<clang::ArrayType>(&type))
      return holds(array->getElementType());
    if (const auto* atomic = llvm::dyn_cast<clang::AtomicType>(&type))
      return holds(atomic->getValueType());
    const clang::RecordDecl* record = definition_of(type);
    if (!record)
      return false;
    if (const auto* derived = llvm::dyn_cast<clang::CXXRecordDecl>(record))
      for (const clang::CXXBaseSpecifier& base : derived->bases())
        if (holds(base.getType()))
          return true;
    return llvm::any_of(record->fields(),
                        [&](const clang::FieldDecl* field) { return holds(field->getType()); });
  }

  bool has_wide_part(const clang::Type& type) {
    const auto holds = [this](clang::QualType part) { return holds_wide(part); };
    if (const auto* function = llvm::dyn_cast<clang::FunctionType>(&type)) {
      const auto* prototype = llvm::dyn_cast<clang::FunctionProtoType>(function);
      return holds(function->getReturnType()) || (prototype && llvm::any_of(prototype->param_types(), holds));
    }
    // A pointer to a value is not the value, but one to a function can be called.
    if (type.isAnyPointerType() || type.isReferenceType() || type.isMemberPointerType()) {
      const clang::QualType pointee = type.getPointeeType();
      const clang::Type* inner = pointee.isNull() ? nullptr : pointee.getTypePtr();
      return inner && (inner->isFunctionType() || inner->isAnyPointerType()) && holds(pointee);
    }
    return any_part(type, holds);
  }

  bool holds_whole_register(const clang::Type& type) const {
    if (llvm::isa<clang::VectorType>(type) || type.isSpecificBuiltinType(clang::BuiltinType::Float128))
      return context_.getTypeSize(&type) == width_of_all;
    return any_part(type,
                    [this](clang::QualType part) { return holds_whole_register(*part.getCanonicalType()); });
  }

  const clang::ASTContext& context_;
  llvm::DenseMap<const clang::Type*, bool> holds_wide_;
};

class VectorWalk : public CodeWalk {
public:
  VectorWalk(const clang::CompilerInstance& compiler, const EmittedFunctions& emitted)
      : context_(compiler.getASTContext()), options_(compiler.getHeaderSearchOpts()), emitted_(emitted),
        types_(context_) {
    walk(*context_.getTranslationUnitDecl());
  }
  bool found() const { return found_; }

private:
  bool visit(const clang::Decl& declaration) override {
    if (found_ || is_of_clang(declaration.getLocation()) || has_no_effect(declaration))
      return false;
    if (const auto* value = llvm::dyn_cast<clang::ValueDecl>(&declaration);
        value && !llvm::isa<clang::FieldDecl, clang::IndirectFieldDecl>(value))
      look_at(value->getType());
    return !found_;
  }
  bool visit(const clang::Stmt& statement) override {
    if (const auto* expression = llvm::dyn_cast<clang::Expr>(&statement))
      look_at(expression->getType());
    return !found_;
  }

  // A template is no function, and the versions of a function have names of their own in the module.
  bool has_no_effect(const clang::Decl& declaration) const {
    const clang::FunctionDecl* function = declaration.getAsFunction();
    return function && !function->isDependentContext() && !function->isMultiVersion() &&
           !emitted_.contains(function->getCanonicalDecl());
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

  void look_at(clang::QualType type) { found_ |= !type.isNull() && types_.holds_wide(type); }

  const clang::ASTContext& context_;
  const clang::HeaderSearchOptions& options_;
  const EmittedFunctions& emitted_;
  llvm::DenseMap<clang::FileID, bool> of_clang_;
  Types types_;
  bool found_ = false;
};

} // namespace

bool has_wide_vectors(const clang::CompilerInstance& compiler, const EmittedFunctions& emitted) {
  Types types(compiler.getASTContext());
  return llvm::any_of(compiler.getASTContext().getTypes(),
                      [&](const clang::Type* type) { return types.is_wide(*type); }) &&
         VectorWalk(compiler, emitted).found();
}

} // namespace xaas::frontdoor
