// Problem: whether a function takes a vector of 256 bits in a register depends on AVX, even if it is hidden
// in a union, so that the types in the module show no vector.
//
//     union u { double d[4]; v8 v; };           v8: a vector of 256 bits
//     double first(union u a);                  in YMM0 with AVX, else in memory
//     struct p { v8 v; } __attribute__((packed));
//
// Approach: the module shows every call that the source makes, also those that no walk over the syntax tree
// finds (captured statements of OpenMP, blocks, sizes of arrays, default arguments). A value that may be in a
// register is a vector there with AVX, and without it lies in memory, with the alignment of its type: 32
// bytes or more (frontend.cpp looks for these). What remains are two things that the syntax tree alone shows,
// by its list of all types: a type with less alignment than its vectors, and that there are wide vectors at
// all where code reads variable arguments, for which the front end writes the convention out.
//
// AVX changes the convention of one more type: a union of more than 128 bits, because of its alignment, with
// a vector or a number of 128 bits in it.
//
// Rejected: a walk over the syntax tree for values of such types. It has to know every kind of statement and
// expression that has code in it.
#include "c/wide_vectors.h"

#include <xaas/known/preprocess.h>

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
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

  // True for a structure that has such a vector in it and less than its alignment.
  bool is_hidden(const clang::Type& type) {
    const clang::RecordDecl* record = definition_of(type);
    return record && context_.getTypeAlign(&type) <= width_of_all &&
           holds_wide(context_.getCanonicalType(clang::QualType(&type, 0)));
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

  // True if a value of the type has such a vector in it.
  bool holds_wide(clang::QualType type) {
    const clang::Type& canonical = *type.getCanonicalType();
    const auto [known, is_new] = holds_wide_.try_emplace(&canonical, false);
    if (!is_new)
      return known->second;
    const bool holds =
        is_wide(canonical) || any_part(canonical, [this](clang::QualType part) { return holds_wide(part); });
    return holds_wide_[&canonical] = holds;
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

bool is_of_clang(const clang::RecordDecl& record, const clang::CompilerInstance& compiler) {
  const clang::SourceManager& sources = compiler.getSourceManager();
  const clang::SourceLocation location = sources.getExpansionLoc(record.getLocation());
  return location.isValid() &&
         known::is_header_of_clang(sources, sources.getFileID(location), compiler.getHeaderSearchOpts());
}

} // namespace

WideVectors wide_vectors(const clang::CompilerInstance& compiler) {
  const clang::ASTContext& context = compiler.getASTContext();
  Types types(context);
  WideVectors found;
  for (const clang::Type* type : context.getTypes()) {
    found.any |= types.is_wide(*type);
    const clang::RecordDecl* record = type->getAsRecordDecl();
    found.hidden |= record && types.is_hidden(*type) && !is_of_clang(*record, compiler);
  }
  return found;
}

} // namespace xaas::frontdoor
