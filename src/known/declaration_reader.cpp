// Problem: tell from tokens alone, while they pass, what a declaration at file scope declares, and whether it
// means anything if nothing mentions that. A parser knows, but a known outcome is found without one. It reads
// only Clang's own headers (waiting_declarations.cpp).
//
//     static int twice(int a) { return 2 * a; }                       inert: declares twice
//     typedef struct pair { int first, second; } pair_t;              inert: pair, pair_t
//     enum color { red, green };                                      inert: color, red, green
//     extern int puts(const char *text) __attribute__((nonnull));     inert: puts
//     static int count(void) __attribute__((constructor)) { ... }     not inert
//     int table[] = {1, 2};                                           not inert
//
// Approach: a few forms are recognized, and every doubt ends with "not inert". Names may be too many (the
// words in the values of enumerators), never too few. Rejected: Clang's own parser for these declarations,
// which costs what a known outcome saves.
#include "declaration_reader.h"

#include <clang/Basic/IdentifierTable.h>
#include <llvm/ADT/StringSwitch.h>

#include <utility>

namespace xaas::known {

namespace {

enum class Word {
  name,
  type,
  qualifier,
  is_static,
  is_inline,
  is_extern,
  is_typedef,
  tag,
  attribute,
  assembly,
  other
};

Word meaning_of(const clang::IdentifierInfo& identifier) {
  if (identifier.getTokenID() == clang::tok::identifier)
    return Word::name;
  return llvm::StringSwitch<Word>(identifier.getName())
      .Case("static", Word::is_static)
      .Cases({"inline", "__inline", "__inline__"}, Word::is_inline)
      .Case("extern", Word::is_extern)
      .Case("typedef", Word::is_typedef)
      .Cases({"struct", "union", "enum", "class"}, Word::tag)
      .Cases({"__attribute__", "__attribute"}, Word::attribute)
      .Cases({"asm", "__asm", "__asm__"}, Word::assembly)
      .Cases(
          {"void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "bool"},
          Word::type)
      .Cases({"__signed", "__signed__", "__int128", "_Complex", "__complex__", "__float128"}, Word::type)
      .Cases({"_Float16", "__bf16", "__fp16", "wchar_t", "char8_t", "char16_t", "char32_t"}, Word::type)
      .Cases({"const", "__const", "__const__", "volatile", "__volatile", "__volatile__"}, Word::qualifier)
      .Cases({"restrict", "__restrict", "__restrict__", "constexpr", "__extension__", "_Noreturn"},
             Word::qualifier)
      .Default(Word::other);
}

// Attributes without effect on a translation unit that does not use the declaration.
bool is_harmless_attribute(llvm::StringRef name) {
  while (name.consume_front("_"))
    ;
  while (name.consume_back("_"))
    ;
  return llvm::StringSwitch<bool>(name)
      .Cases({"always_inline", "noinline", "nodebug", "artificial", "gnu_inline", "flatten", "convergent"},
             true)
      .Cases({"target", "min_vector_width", "const", "pure", "nothrow", "noreturn", "returns_twice", "leaf"},
             true)
      .Cases({"unused", "maybe_unused", "deprecated", "warn_unused_result", "nodiscard", "hot", "cold"}, true)
      .Cases({"malloc", "alloc_size", "alloc_align", "assume_aligned", "nonnull", "returns_nonnull"}, true)
      .Cases({"format", "format_arg", "sentinel", "access", "nonstring", "error", "warning", "diagnose_if"},
             true)
      .Cases({"aligned", "align_value", "packed", "vector_size", "ext_vector_type", "may_alias", "mode"},
             true)
      .Cases({"transparent_union", "no_instrument_function", "visibility", "overloadable"}, true)
      .Default(false);
}

// Clang looks for these itself when it reads clauses of OpenMP; <omp.h> lies among its headers.
bool is_name_that_clang_looks_up(llvm::StringRef name) {
  return name.starts_with("omp_") || name.starts_with("kmp_");
}

// The next token starts another statement.
bool precedes_statement(llvm::StringRef word) {
  return word == "else" || word == "do";
}

// A statement that begins so declares nothing.
bool begins_no_declaration(llvm::StringRef word) {
  return word == "return" || word == "goto" || word == "case" || word == "asm" || word == "__asm" ||
         word == "__asm__";
}

} // namespace

void DeclarationReader::add(clang::tok::TokenKind kind, const clang::IdentifierInfo* identifier) {
  if (in_body_)
    look_for_declaration_in_body(kind, identifier);
  switch (kind) {
  case clang::tok::l_paren:
  case clang::tok::l_square:
  case clang::tok::l_brace:
    open(kind);
    break;
  case clang::tok::r_paren:
  case clang::tok::r_square:
  case clang::tok::r_brace:
    close(kind);
    break;
  case clang::tok::semi:
    if (depth_ == 0)
      end();
    break;
  case clang::tok::star:
    if (depth_ == 0)
      last_word_ = nullptr;
    group_is_pointer_ |= depth_ == 1 && groups_ == 0 && last_ == clang::tok::l_paren && !in_attribute_;
    break;
  default:
    if (identifier)
      word(*identifier);
    else if (depth_ == 0) {
      assigned_ |= kind == clang::tok::equal;
      inert_ = false;
    }
  }
  if (!identifier && kind != clang::tok::l_paren)
    attribute_follows_ = false;
  last_ = identifier ? clang::tok::identifier : kind;
}

void DeclarationReader::word(const clang::IdentifierInfo& identifier) {
  const llvm::StringRef text = identifier.getName();
  if (in_attribute_) {
    if (depth_ == attribute_depth_ + 2 && !in_body_)
      word_of_attribute(text);
    return;
  }
  const Word meaning = meaning_of(identifier);
  attribute_follows_ = meaning == Word::attribute || (meaning == Word::assembly && !in_body_);
  if (in_body_) {
    inert_ &= meaning != Word::is_extern;
    return;
  }
  const bool is_tag =
      std::exchange(tag_follows_, meaning == Word::tag || (tag_follows_ && meaning == Word::attribute));
  const bool in_enumerators = enumerators_depth_ > 0 && depth_ == enumerators_depth_;
  if (meaning == Word::tag)
    is_enumeration_ = identifier.getName() == "enum";
  // A tag among parameters is theirs alone, unless it is known.
  if (meaning == Word::name && ((is_tag && parentheses_ == 0) || in_enumerators))
    names_.push_back(&identifier);
  if (depth_ == 0) {
    word_outside(identifier, is_tag);
  } else if (meaning == Word::name) {
    if (groups_ == 0 && depth_ == 1 && group_is_pointer_)
      pointer_in_group_ = &identifier;
  } else if (meaning == Word::other || meaning == Word::assembly) {
    inert_ &= text == "sizeof" || text == "_Alignof" || text == "alignof";
  }
}

void DeclarationReader::word_of_attribute(llvm::StringRef text) {
  gnu_inline_ |= text == "gnu_inline" || text == "__gnu_inline__";
  inert_ &= is_harmless_attribute(text);
}

void DeclarationReader::word_outside(const clang::IdentifierInfo& identifier, bool is_tag) {
  const Word meaning = meaning_of(identifier);
  static_ |= meaning == Word::is_static;
  inline_ |= meaning == Word::is_inline;
  extern_ |= meaning == Word::is_extern;
  typedef_ |= meaning == Word::is_typedef;
  has_tag_ |= meaning == Word::tag;
  // The name of a symbol follows the parameters.
  inert_ &= meaning != Word::other && (meaning != Word::assembly || groups_ == 1);
  types_ += meaning == Word::name || meaning == Word::type || meaning == Word::tag;
  if (meaning == Word::name) {
    inert_ &= groups_ == 0; // parameters as in K&R C
    last_word_ = is_tag ? nullptr : &identifier;
    words_after_braces_ |= braces_ > 0;
  } else if (meaning != Word::attribute) {
    last_word_ = nullptr;
  }
}

void DeclarationReader::open(clang::tok::TokenKind kind) {
  if (kind == clang::tok::l_square && last_ == clang::tok::l_square)
    inert_ &= in_body_; // [[attribute]]
  if (kind == clang::tok::l_paren && attribute_follows_ && !in_attribute_) {
    in_attribute_ = true;
    attribute_depth_ = depth_;
  } else if (depth_ == 0 && kind == clang::tok::l_paren) {
    // `type (name);` declares a variable.
    if (groups_ == 0 && types_ > 1)
      before_group_ = last_word_;
    group_is_pointer_ = false;
  } else if (depth_ == 0 && kind == clang::tok::l_brace) {
    const bool is_function = groups_ == 1 && braces_ == 0 && !typedef_ && !assigned_;
    in_body_ = is_function;
    statement_starts_ = is_function;
    ++braces_;
    const bool is_optional = static_ || (extern_ && inline_ && gnu_inline_);
    inert_ &= braces_ == 1 && (is_function ? is_optional : has_tag_ && groups_ == 0);
  } else if (depth_ == 1 && groups_ == 0 && kind == clang::tok::l_paren) {
    group_is_pointer_ = false; // a pointer to a function that returns one to a function
  }
  // Types that are defined in a size, or in an attribute.
  inert_ &= in_body_ || kind != clang::tok::l_brace || (parentheses_ == 0 && !in_attribute_);
  attribute_follows_ = false;
  ++depth_;
  parentheses_ += kind == clang::tok::l_paren;
  if (kind == clang::tok::l_brace && !in_body_ && is_enumeration_) {
    inert_ &= enumerators_depth_ == 0; // an enumeration in the value of an enumerator
    enumerators_depth_ = depth_;
  }
}

void DeclarationReader::close(clang::tok::TokenKind kind) {
  if (depth_ == 0) { // of something that began before
    ended_ = true;
    inert_ = false;
    return;
  }
  if (depth_ == enumerators_depth_) {
    is_enumeration_ = false;
    enumerators_depth_ = 0;
  }
  --depth_;
  parentheses_ -= kind == clang::tok::r_paren;
  if (in_attribute_) {
    in_attribute_ = depth_ != attribute_depth_;
    return;
  }
  if (depth_ > 0)
    return;
  groups_ += kind == clang::tok::r_paren;
  if (kind == clang::tok::r_paren && groups_ == 1 && pointer_in_group_ && !typedef_)
    inert_ = false;
  if (kind != clang::tok::r_brace || !in_body_)
    return;
  in_body_ = false;
  end_with(before_group_);
}

// A function that is declared in the body of another is the same for the whole translation unit:
//
//     { int scale(float); return scale(2); }
//
// Two words, perhaps with stars between, and a parenthesis at the start of a statement, or another such word
// after a comma (`int i, scale(float);`).
void DeclarationReader::look_for_declaration_in_body(clang::tok::TokenKind kind,
                                                     const clang::IdentifierInfo* identifier) {
  if (kind == clang::tok::semi || kind == clang::tok::l_brace || kind == clang::tok::r_brace ||
      kind == clang::tok::r_paren || kind == clang::tok::colon ||
      (identifier && precedes_statement(identifier->getName()))) {
    statement_starts_ = true;
    words_of_statement_ = 0;
    return;
  }
  if (identifier && (statement_starts_ || words_of_statement_ > 0)) {
    words_of_statement_ = begins_no_declaration(identifier->getName()) ? 0 : words_of_statement_ + 1;
  } else if (kind == clang::tok::l_paren) {
    inert_ &= words_of_statement_ < 2 || in_attribute_ || attribute_follows_;
    words_of_statement_ = 0;
  } else if (kind == clang::tok::comma) {
    words_of_statement_ = words_of_statement_ > 1;
  } else if (kind != clang::tok::star) {
    words_of_statement_ = 0;
  }
  statement_starts_ = false;
}

void DeclarationReader::end() {
  const clang::IdentifierInfo* name = last_word_;
  if (typedef_) {
    inert_ &= groups_ < 3;
    if (groups_ > 0)
      name = pointer_in_group_ ? pointer_in_group_ : before_group_;
  } else if (groups_ > 0) {
    inert_ &= groups_ == 1 && braces_ == 0;
    name = before_group_;
  } else if (extern_) {
    inert_ &= braces_ == 0;
  } else { // a tag, and nothing after it
    name = names_.empty() ? nullptr : names_.front();
    inert_ &= has_tag_ && !words_after_braces_ && !last_word_;
  }
  end_with(name);
}

void DeclarationReader::end_with(const clang::IdentifierInfo* name) {
  ended_ = true;
  names_.push_back(name);
  for (const clang::IdentifierInfo* each : names_)
    inert_ &= each && !is_name_that_clang_looks_up(each->getName());
}

} // namespace xaas::known
