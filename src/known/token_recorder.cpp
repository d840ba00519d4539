// Problem: hash the stream of a preprocessor so that two streams are equal exactly if the rest of the front
// end sees the same, whether the preprocessor runs alone or inside a compile, and wherever the build lies on
// the machine.
//
// Example: the entries for this source, /build/1/a.c of a project whose directory is named ".".
//
//     #define N 3
//     int a = N;
//
//     entry              place                                                         text
//     token, identifier  line 2, column 0, "another file", the file's portable name    int
//     token, identifier  line 2, column 4                                              a
//     token, equal       line 2, column 6
//     token, number      line 2, column 8, "expanded", the end of the expansion        3
//     token, semicolon   line 2, column 9
//     token, end of file line 3, column 0
//
// `#define` and the macro's name leave no entry. Another value of N changes the text of the fourth token.
//
// Approach: each entry starts with its kind and its lengths, so that no two streams look alike, and keywords
// count as identifiers, because the parser turns some of them into identifiers. A place is one number; the
// file's name follows only when the file changes, which is rare. Lines and columns are counted here, in
// reading order, because SourceManager's own answers cost more than the preprocessor does. Words that make
// Clang look at the instruction set (known.cpp has the list) are noticed on the way, once per identifier.
//
// Rejected: hashing spellings alone (a moved token may change debug information); SourceManager for every
// place; waiting for the handler of a pragma inside a compile, which consumes words that a listener never
// sees.
#include "token_recorder.h"

#include <xaas/known/places.h>

#include <clang/Basic/Builtins.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>

namespace xaas::known {

namespace {

enum Entry : uint64_t {
  entry_token,
  entry_change,
  entry_pragma,
  entry_content,
  entry_embed,
  entry_declaration
};

// What pragma_done() gets for pragmas about warnings; PPCallbacks.
constexpr uint64_t diagnostic_push = 1, diagnostic_pop = 2, last_diagnostic = 31;

bool is_of_half(llvm::StringRef word) {
  return word.contains_insensitive("f16");
}

// True for 1.0f16, 1.0bf16, 1.0f16i, and 0x1p0f16. The letters are digits in 0x2F165667.
bool is_number_of_half(llvm::StringRef text) {
  if (text.starts_with_insensitive("0x"))
    text = text.substr(text.find_first_of("pP"));
  return is_of_half(text);
}

// `HF` is a mode (`__attribute__((mode(HF)))`); `omp` outside of a pragma is `[[omp::directive(...)]]`;
// builtins like `__builtin_inff16` have the type in their name.
bool reads_instruction_set(llvm::StringRef word, bool openmp) {
  return (word.starts_with("__builtin_") && is_of_half(word)) || word == "_Float16" || word == "__fp16" ||
         word == "__bf16" || word == "HF" || word == "__HF__" || word == "HC" || word == "__HC__" ||
         word == "BF" || word == "__BF__" || word == "__builtin_omp_required_simd_align" ||
         (openmp && word == "omp");
}

// False for `__builtin_ia32_pause` and others that every x86 has.
bool needs_features(const clang::IdentifierInfo& identifier, const clang::Builtin::Context& builtins) {
  if (!identifier.getName().starts_with("__builtin_ia32_"))
    return false;
  const unsigned builtin = identifier.getBuiltinID();
  return builtin == clang::Builtin::NotBuiltin || *builtins.getRequiredFeatures(builtin) != '\0';
}

// True for a constraint of inline assembly with a register that an instruction set may lack.
bool names_vector_register(llvm::StringRef constraint) {
  return constraint.find_first_of("xvkyY") != llvm::StringRef::npos || constraint.contains("mm");
}

// The clause and the selector of OpenMP that Clang resolves by the instruction set. The other selectors of
// `declare variant` and `metadirective` do not ask for it; <omp.h> has one of kind(host).
bool pragma_reads_instruction_set(llvm::StringRef word) {
  return word == "aligned" || word == "isa";
}

constexpr llvm::StringLiteral letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool is_letter(char c) {
  return letters.contains(c);
}

// True if the text of a directive shows its words: it has no comments, trigraphs, universal character names,
// or line continuations within a word.
bool is_simple(llvm::StringRef text) {
  if (text.contains("/*") || text.contains("??") || text.contains("\\u") || text.contains("\\U") ||
      llvm::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return false;
  for (size_t at = text.find('\\'); at != llvm::StringRef::npos; at = text.find('\\', at + 1))
    if (at > 0 && is_letter(text[at - 1]))
      return false;
  return true;
}

} // namespace

TokenRecorder::TokenRecorder(const session::Session& session, clang::Preprocessor& preprocessor,
                             bool with_content, bool may_wait, bool listening)
    : session_(session), preprocessor_(preprocessor), sources_(preprocessor.getSourceManager()),
      openmp_(preprocessor.getLangOpts().OpenMP || preprocessor.getLangOpts().OpenMPSimd),
      with_content_(with_content), may_wait_(may_wait), listening_(listening),
      waiting_([this](const Declaration& declaration) { take(declaration); }) {}

void TokenRecorder::token(const clang::Token& token) {
  settle();
  if (token.isAnnotation()) {
    reader_.refuse();
    embed(token);
    return;
  }
  if (std::exchange(between_declarations_, false))
    start_declaration(token.is(clang::tok::eof) ? clang::SourceLocation() : token.getLocation());
  record(token);
  reader_.add(token.getKind(), token.getIdentifierInfo());
  if (reader_.ended())
    end_declaration();
}

void TokenRecorder::start_declaration(clang::SourceLocation location) {
  reader_ = DeclarationReader();
  if (std::exchange(after_pragma_, false))
    reader_.refuse();
  if (location.isInvalid())
    return;
  if (!may_wait_ || !lines_of(sources_.getFileID(sources_.getExpansionLoc(location))).of_clang) {
    has_own_declarations_ = true;
    return;
  }
  declaration_.emplace().pragmas = pragmas_;
  mentioned_.clear();
  seen_in_declaration_.clear();
  diagnostic_pushes_ = 0;
  outer_file_ = std::exchange(file_, clang::FileID());
  outer_lines_ = lines_;
  entries_.clear();
  stream_.divert(&entries_);
}

void TokenRecorder::end_declaration() {
  between_declarations_ = true;
  if (!declaration_)
    return;
  Declaration declaration = *std::exchange(declaration_, std::nullopt);
  stream_.divert(nullptr);
  declaration.entries = entries_; // copied, so that its memory is allocated once
  file_ = outer_file_;
  lines_ = outer_lines_;
  if (diagnostic_pushes_ > 0)
    reader_.refuse();
  declaration.names = reader_.names();
  for (const clang::IdentifierInfo* name : declaration.names)
    mentioned_.erase(name);
  declaration.mentions.assign(mentioned_.begin(), mentioned_.end());
  waiting_.add(std::move(declaration), reader_.is_inert());
}

void TokenRecorder::take(const Declaration& declaration) {
  stream_.number(entry_declaration);
  stream_.number(declaration.pragmas);
  stream_.text(declaration.entries);
  for (const clang::FileID file : declaration.files)
    note_content(file);
  reads_.instruction_set |= declaration.reads.instruction_set;
  reads_.features |= declaration.reads.features;
}

void TokenRecorder::mention(const clang::IdentifierInfo& identifier) {
  if (identifier.getTokenID() != clang::tok::identifier) // no name
    return;
  if (declaration_)
    mentioned_.insert(&identifier);
  else
    waiting_.mention(identifier);
}

// Attributes (alias, ifunc) and inline assembly name functions in strings.
void TokenRecorder::mention_words_of(llvm::StringRef text) {
  const clang::IdentifierTable& known = preprocessor_.getIdentifierTable();
  for (size_t at = text.find_first_of(letters); at != llvm::StringRef::npos;
       at = text.find_first_of(letters, at)) {
    const size_t end = std::min(text.find_first_not_of(letters, at), text.size());
    if (const auto word = known.find(text.slice(at, end)); word != known.end())
      mention(*word->second);
    at = end;
  }
}

void TokenRecorder::record(const clang::Token& token) {
  const clang::IdentifierInfo* identifier = token.getIdentifierInfo();
  if (identifier)
    mention(*identifier);
  llvm::StringRef text;
  if (identifier) {
    text = identifier->getName();
  } else if (token.isLiteral()) {
    spelling_.clear();
    text = preprocessor_.getSpelling(token, spelling_);
    if (clang::tok::isStringLiteral(token.getKind()))
      mention_words_of(text);
  }
  // The parser turns some keywords into identifiers once it has seen them as names.
  const unsigned kind = identifier ? clang::tok::identifier : token.getKind();
  stream_.number(entry_token | uint64_t(kind) << 8 | uint64_t(text.size()) << 32);
  place(token.getLocation());
  stream_.raw(std::string_view(text));
  if (assembly_.started || token.is(clang::tok::kw_asm))
    look_at_assembly(token, text);
  if (identifier)
    look_at(*identifier);
  else if (token.is(clang::tok::numeric_constant) && is_number_of_half(text))
    reads().instruction_set |= !lines_->of_clang;
  // Messages print a type that has an attribute from a macro with the macro's name.
  if (token.is(clang::tok::kw___attribute) && token.getLocation().isMacroID())
    stream_.text(std::string_view(
        clang::Lexer::getImmediateMacroName(token.getLocation(), sources_, preprocessor_.getLangOpts())));
}

void TokenRecorder::listened(const clang::Token& token) {
  if (at_end_)
    return;
  switch (token.getKind()) {
  case clang::tok::annot_pragma_openmp:
  case clang::tok::annot_attr_openmp:
    in_openmp_ = true;
    break;
  case clang::tok::annot_pragma_openmp_end:
    in_openmp_ = false;
    break;
  case clang::tok::annot_pragma_weak: // words of the pragma follow these
  case clang::tok::annot_pragma_unused:
    words_to_skip_ = 1;
    break;
  case clang::tok::annot_pragma_weakalias:
  case clang::tok::annot_pragma_redefine_extname:
    words_to_skip_ = 2;
    break;
  case clang::tok::annot_embed:
    this->token(token);
    break;
  case clang::tok::annot_module_include:
  case clang::tok::annot_module_begin:
  case clang::tok::annot_module_end:
    give_up();
    break;
  default:
    if (token.isAnnotation() || in_openmp_)
      break;
    if (words_to_skip_ > 0)
      --words_to_skip_;
    else
      this->token(token);
    at_end_ = token.is(clang::tok::eof);
  }
}

// A listener cannot record the words of a pragma that only its handler saw.
void TokenRecorder::settle() {
  usable_ &= !(listening_ && macros_in_pragma_);
  if (!std::exchange(unknown_pragma_, false))
    return;
  reader_.refuse();
  may_wait_ = false; // it may apply to all that follows, also if a declaration contains it
}

bool TokenRecorder::is_predefined(clang::SourceLocation location) const {
  return sources_.getFileID(location) == preprocessor_.getPredefinesFileID();
}

void TokenRecorder::pragma(clang::SourceLocation location, clang::PragmaIntroducerKind kind) {
  settle();
  // Clang's own `#pragma push_macro` among the predefined macros, whose number changes its line.
  if (is_predefined(location)) {
    macros_in_pragma_ = false;
    return;
  }
  const llvm::StringRef text = line_of_directive(sources_, location);
  stream_.number(entry_pragma);
  place(location);
  stream_.text(std::string_view(text));
  if (!declaration_) {
    ++pragmas_;
    after_pragma_ = true;
  }
  unknown_pragma_ = true; // look_at_words() knows better
  macros_in_pragma_ = kind != clang::PIK_HashPragma || text.empty() || !look_at_words(text);
}

// True if what follows may wait after the pragma: at file scope it gives no attributes to functions, and in
// the body of a function it has no effect after the body.
bool TokenRecorder::knows_pragma(llvm::StringRef first, llvm::StringRef second) {
  if (first == "GCC" || first == "clang") {
    if (second == "diagnostic") // pragma_done() counts
      return true;
    if (reader_.in_body())
      return second == "unroll" || second == "ivdep" || second == "loop" || second == "fp";
    if (!between_declarations_)
      return false;
    return second == "system_header" || second == "poison" || second == "visibility";
  }
  if (reader_.in_body())
    return first == "omp" || first == "STDC" || first == "unroll" || first == "nounroll";
  if (!between_declarations_)
    return false;
  return first == "once" || first == "push_macro" || first == "pop_macro" || first == "pack" ||
         first == "STDC" || first == "message";
}

void TokenRecorder::pragma_name(std::string_view space, const clang::Token& first) {
  stream_.number(entry_pragma);
  stream_.text(space);
  place(first.getLocation());
  const std::string name = preprocessor_.getSpelling(first);
  stream_.text(name);
  unknown_pragma_ = !(space.empty() ? knows_pragma(name, {}) : knows_pragma(space, name));
}

void TokenRecorder::pragma_token(const clang::Token& token) {
  settle();
  record(token);
  reads().instruction_set |= openmp_ && clang::tok::isStringLiteral(token.getKind());
  if (const clang::IdentifierInfo* identifier = token.getIdentifierInfo())
    pragma_word(identifier->getName());
}

void TokenRecorder::pragma_done(clang::SourceLocation location, uint64_t what, std::string_view text) {
  macros_in_pragma_ = false;
  unknown_pragma_ &= what > last_diagnostic;
  if (what <= last_diagnostic)
    after_pragma_ = false;
  if (declaration_) {
    if (what > last_diagnostic || (what != diagnostic_push && diagnostic_pushes_ == 0))
      reader_.refuse();
    else if (what <= diagnostic_pop)
      diagnostic_pushes_ += what == diagnostic_push ? 1 : -1;
  }
  change(location, what, text);
}

void TokenRecorder::change(clang::SourceLocation location, uint64_t what, std::string_view text) {
  settle();
  stream_.number(entry_change);
  stream_.number(what);
  stream_.text(text);
  if (location.isValid())
    place(location);
}

void TokenRecorder::renamed(clang::SourceLocation location, uint64_t kind, bool by_pragma) {
  // Line markers among the predefined macros would only count these, and no token lies there.
  if (is_predefined(location))
    return;
  const clang::PresumedLoc presumed = sources_.getPresumedLoc(location);
  const std::string name =
      presumed.isValid() ? name_without_place(session_, presumed.getFilename()) : std::string();
  if (by_pragma) {
    pragma_done(location, kind, name);
  } else {
    reader_.refuse();
    may_wait_ = false; // a marker may say that a header is none of the system's
    change(location, kind, name);
  }
  stream_.number(presumed.isValid() ? presumed.getLine() : 0);
}

bool TokenRecorder::is_start_of_file(clang::SourceLocation location) const {
  return sources_.getDecomposedLoc(location).second == 0;
}

// The predefined macros are not a file, and have no digest in debug information.
void TokenRecorder::note_content(clang::FileID file) {
  if (!with_content_ || file.isInvalid() || !sources_.getFileEntryForID(file) ||
      !with_content_already_.insert(file).second)
    return;
  stream_.number(entry_content);
  stream_.text(std::string_view(sources_.getBufferData(file)));
}

std::optional<Preprocessed> TokenRecorder::finish(const Digest& messages) {
  settle();
  if (declaration_) { // that nothing ended
    reader_.refuse();
    end_declaration();
  }
  // Clang warns about a source that declares nothing.
  stream_.number(!has_own_declarations_ && waiting_.any());
  stream_.text(messages.hex());
  result_.text = stream_.finish();
  Hasher macros;
  for (const std::string& macro : macros_)
    macros.update_part(macro);
  result_.macros = macros.finish();
  result_.reads_instruction_set = reads_.instruction_set;
  result_.needs_features = reads_.features;
  return usable_ ? std::optional(std::move(result_)) : std::nullopt;
}

// The order does not matter, so that a compile's preprocessor may look ahead.
void TokenRecorder::expanded(const clang::Token& name, const clang::MacroDefinition& definition) {
  const clang::MacroInfo* const macro = definition.getMacroInfo();
  if (!macro || macro->isBuiltinMacro() || is_predefined(macro->getDefinitionLoc()) ||
      !expanded_.insert(macro).second)
    return;
  const auto [file, offset] = sources_.getDecomposedLoc(macro->getDefinitionLoc());
  const clang::OptionalFileEntryRef entry = sources_.getFileEntryRefForID(file);
  macros_.insert(name.getIdentifierInfo()->getName().str() + ' ' +
                 std::to_string(sources_.getLineNumber(file, offset)) + ' ' +
                 std::to_string(sources_.getColumnNumber(file, offset)) + ' ' +
                 (entry ? name_without_place(session_, entry->getName()) : std::string()));
}

// Looks at the words of a pragma; false if they may differ from those in its text.
bool TokenRecorder::look_at_words(llvm::StringRef text) {
  if (!is_simple(text))
    return false;
  unsigned count = 0;
  llvm::StringRef first, second;
  size_t end = 0;
  for (size_t at = 0; at < text.size(); at = end) {
    if (text[at] ==
        '"') { // strings contain no macros; #pragma push_macro("NAME") is in the predefined macros
      reads().instruction_set |= openmp_ && first == "omp"; // the name of a selector may be a string: "isa"
      end = text.find('"', at + 1);
      if (end == llvm::StringRef::npos || text.slice(at, end).contains('\\'))
        return false;
      ++end;
      continue;
    }
    end = at + 1;
    if (!is_letter(text[at]))
      continue;
    end = std::min(text.find_first_not_of(letters, at), text.size());
    const llvm::StringRef word = text.slice(at, end);
    const clang::IdentifierInfo& identifier = *preprocessor_.getIdentifierInfo(word);
    if (identifier.hasMacroDefinition())
      return false;
    if (++count <= 3)
      (count == 2 ? first : second) = word;
    if (count <= 2) // "pragma", and its kind
      continue;
    mention(identifier);
    look_at(identifier);
    reads().instruction_set |= is_of_half(word);
    pragma_word(word);
  }
  unknown_pragma_ = !knows_pragma(first, second);
  return true;
}

// Applies to the place that was recorded last.
void TokenRecorder::look_at(const clang::IdentifierInfo& identifier) {
  result_.lock_free_queries += is_lock_free_query(identifier);
  if (lines_->of_clang || !(declaration_ ? seen_in_declaration_ : seen_).insert(&identifier).second)
    return;
  reads().instruction_set |= reads_instruction_set(identifier.getName(), openmp_);
  reads().features |= needs_features(identifier, preprocessor_.getBuiltinInfo());
}

// Clang checks the sizes of operands in vector registers by the features, also in functions that give no
// code.
//
//     asm [volatile] ( "text" : [name] "constraint" (operand), ... : inputs : clobbers )
void TokenRecorder::look_at_assembly(const clang::Token& token, llvm::StringRef text) {
  const bool in_operands = assembly_.depth == 1 && (assembly_.colons == 1 || assembly_.colons == 2);
  const bool is_text = clang::tok::isStringLiteral(token.getKind());
  const bool after_text = std::exchange(assembly_.after_text, is_text);
  switch (token.getKind()) {
  case clang::tok::kw_asm:
    assembly_ = {true, 0, 0, false};
    return;
  case clang::tok::l_paren:
    // A constraint that is not a literal.
    reads().instruction_set |= in_operands && !after_text && !lines_->of_clang;
    ++assembly_.depth;
    return;
  case clang::tok::r_paren:
    assembly_.started = assembly_.depth > 1;
    --assembly_.depth;
    return;
  case clang::tok::colon:
    assembly_.colons += assembly_.depth == 1;
    return;
  case clang::tok::coloncolon:
    assembly_.colons += assembly_.depth == 1 ? 2 : 0;
    return;
  default:
    if (in_operands && is_text)
      reads().instruction_set |= names_vector_register(text) && !lines_->of_clang;
    // Before the parentheses are qualifiers.
    assembly_.started &= assembly_.depth > 0 || token.getIdentifierInfo();
  }
}

void TokenRecorder::pragma_word(llvm::StringRef word) {
  reads().instruction_set |= openmp_ && pragma_reads_instruction_set(word);
}

// A binary file (#embed) is one token. Other annotations stand for modules, whose contents tokens do not
// show.
void TokenRecorder::embed(const clang::Token& token) {
  if (token.isNot(clang::tok::annot_embed)) {
    give_up();
    return;
  }
  stream_.number(entry_embed);
  place(token.getLocation());
  stream_.text(std::string_view(
      static_cast<const clang::EmbedAnnotationData*>(token.getAnnotationValue())->BinaryData));
}

// A place is one number, followed by the parts that do not fit into it: the file's name if the file changes,
// and the end of a macro's expansion (from which __builtin_LINE takes its value).
void TokenRecorder::place(clang::SourceLocation location) {
  if (location.isFileID()) {
    unsigned offset = 0;
    if (file_.isInvalid() || !sources_.isInFileID(location, file_, &offset)) {
      const auto [file, start] = sources_.getDecomposedLoc(location);
      place_in(file, start, false);
    } else {
      stream_.number(lines_->at(offset) << 2);
    }
    return;
  }
  if (expansion_.isInvalid() || !sources_.isInFileID(location, expansion_)) {
    expansion_ = sources_.getFileID(location);
    const clang::CharSourceRange range = sources_.getExpansionRange(location);
    begin_ = sources_.getDecomposedLoc(range.getBegin());
    const auto [file, offset] = sources_.getDecomposedLoc(range.getEnd());
    end_ = lines_of(file).at(offset);
  }
  place_in(begin_.first, begin_.second, true);
  stream_.number(end_);
}

void TokenRecorder::place_in(clang::FileID file, unsigned offset, bool expanded) {
  const bool other = file != file_;
  if (other) {
    file_ = file;
    lines_ = &lines_of(file);
    if (declaration_ && !lines_->of_clang)
      reader_.refuse();
  }
  stream_.number(lines_->at(offset) << 2 | uint64_t(expanded) << 1 | uint64_t(other));
  if (!other)
    return;
  const clang::SourceLocation start = sources_.getLocForStartOfFile(file);
  const clang::PresumedLoc presumed = sources_.getPresumedLoc(start, false);
  stream_.text(presumed.isValid() ? name_without_place(session_, presumed.getFilename()) : std::string());
  // In C it does not matter whether a system header is for C++, too; and it depends on who includes it first.
  const clang::SrcMgr::CharacteristicKind kind = sources_.getFileCharacteristic(start);
  stream_.number(preprocessor_.getLangOpts().CPlusPlus ? kind : uint64_t(kind != clang::SrcMgr::C_User));
  if (declaration_)
    declaration_->files.push_back(file);
  else
    note_content(file);
}

Lines& TokenRecorder::lines_of(clang::FileID file) {
  std::unique_ptr<Lines>& lines = lines_of_[file];
  if (!lines) {
    lines = std::make_unique<Lines>(sources_.getBufferData(file));
    lines->of_clang =
        is_header_of_clang(sources_, file, preprocessor_.getHeaderSearchInfo().getHeaderSearchOpts());
  }
  return *lines;
}

} // namespace xaas::known
