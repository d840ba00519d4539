// Reads one declaration at file scope, token by token, to tell what it declares.
#pragma once

#include <clang/Basic/TokenKinds.h>
#include <llvm/ADT/StringRef.h>

#include <vector>

namespace clang {
class IdentifierInfo;
} // namespace clang

namespace xaas::known {

// Knows these forms: definitions of functions that give no code unless they are used, prototypes, typedefs,
// definitions of structures, unions and enumerations, and variables that are `extern`. A declaration in
// another form, or with an attribute that has an effect although nothing uses the declaration, is not inert.
class DeclarationReader {
public:
  // The identifier is null for other tokens. Keywords are identifiers.
  void add(clang::tok::TokenKind kind, const clang::IdentifierInfo* identifier);

  // The last token was the declaration's last.
  bool ended() const { return ended_; }
  bool in_body() const { return in_body_; }
  void refuse() { inert_ = false; }

  // After the end: true if the declaration has no effect unless one of names() is mentioned.
  bool is_inert() const { return inert_; }
  // All names that it declares, and perhaps more.
  const std::vector<const clang::IdentifierInfo*>& names() const { return names_; }

private:
  void word(const clang::IdentifierInfo& identifier);
  void word_of_attribute(llvm::StringRef text);
  void word_outside(const clang::IdentifierInfo& identifier, bool is_tag); // of all brackets
  void open(clang::tok::TokenKind kind);
  void close(clang::tok::TokenKind kind);
  void look_for_declaration_in_body(clang::tok::TokenKind kind, const clang::IdentifierInfo* identifier);
  void end();
  void end_with(const clang::IdentifierInfo* name);

  bool inert_ = true, ended_ = false;
  unsigned depth_ = 0;       // of brackets of all kinds
  unsigned parentheses_ = 0; // around, also those of attributes
  clang::tok::TokenKind last_ = clang::tok::unknown;
  bool static_ = false, inline_ = false, extern_ = false, typedef_ = false, has_tag_ = false,
       assigned_ = false;
  bool gnu_inline_ = false;
  bool tag_follows_ = false;
  bool is_enumeration_ = false;    // the last tag
  unsigned enumerators_depth_ = 0; // inside of its braces; 0 outside
  bool attribute_follows_ = false; // or the text of inline assembly
  bool in_attribute_ = false;
  unsigned attribute_depth_ = 0; // outside of its parentheses
  unsigned groups_ = 0;          // pairs of parentheses outside of all others, without those of attributes
  unsigned types_ = 0;           // words outside of brackets that may be a type
  unsigned braces_ = 0;          // pairs of braces outside of all others
  bool in_body_ = false;
  bool words_after_braces_ = false;
  unsigned words_of_statement_ = 0; // in a body, from its start; 0 if it does not begin with words alone
  bool statement_starts_ = false;
  const clang::IdentifierInfo* last_word_ = nullptr;        // outside of brackets
  const clang::IdentifierInfo* before_group_ = nullptr;     // the word before the first group
  const clang::IdentifierInfo* pointer_in_group_ = nullptr; // the word in a first group like `(*name)`
  bool group_is_pointer_ = false;
  std::vector<const clang::IdentifierInfo*> names_;
};

} // namespace xaas::known
