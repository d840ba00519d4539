// Hashes the output of a preprocessor while it runs.
#pragma once

#include "declaration_reader.h"
#include "lines.h"
#include "waiting_declarations.h"

#include <xaas/known/preprocess.h>

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Token.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallString.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace clang {
class IdentifierInfo;
class MacroDefinition;
class MacroInfo;
class Preprocessor;
} // namespace clang

namespace xaas::known {

// Collects the stream. Every entry starts with its kind, and the length precedes each text, so that no two
// streams look alike.
class TokenStream {
public:
  void number(uint64_t value) {
    target_->append(reinterpret_cast<const char*>(&value), sizeof(value));
    flush(64 << 10);
  }
  void text(std::string_view value) {
    number(value.size());
    raw(value);
  }
  void raw(std::string_view value) { target_->append(value); }
  // Until the next call, entries go there; back to the stream with a null pointer.
  void divert(std::string* target) { target_ = target ? target : &buffer_; }
  Digest finish() {
    flush(0);
    return hasher_.finish();
  }

private:
  void flush(size_t limit) {
    if (buffer_.size() <= limit)
      return;
    hasher_.update(buffer_);
    buffer_.clear();
  }
  Hasher hasher_;
  std::string buffer_;
  std::string* target_ = &buffer_;
};

// Takes the tokens from a preprocessor that runs alone, by token(), or from that of a compile, by listened().
// Both give the same result, or the second gives none.
class TokenRecorder {
public:
  // With `with_content`, the files that the tokens are in are part of the stream. If not `may_wait`, unused
  // declarations are, too.
  TokenRecorder(const session::Session& session, clang::Preprocessor& preprocessor, bool with_content,
                bool may_wait, bool listening);
  TokenRecorder(const TokenRecorder&) = delete;
  TokenRecorder& operator=(const TokenRecorder&) = delete;

  void token(const clang::Token& token);
  void listened(const clang::Token& token);

  // Starts a pragma and records its text. If macros_in_pragma(), its expansion must follow.
  void pragma(clang::SourceLocation location, clang::PragmaIntroducerKind kind);
  bool macros_in_pragma() const { return macros_in_pragma_; }
  // The first word after the namespace (GCC, clang, or none) names the pragma. It does not count as a use of
  // the word.
  void pragma_name(std::string_view space, const clang::Token& first);
  void pragma_token(const clang::Token& token);
  // The pragma was the preprocessor's own and had this effect.
  void pragma_done(clang::SourceLocation location, uint64_t what, std::string_view text = {});

  void expanded(const clang::Token& name, const clang::MacroDefinition& definition);
  void change(clang::SourceLocation location, uint64_t what, std::string_view text = {});
  // #line, `# 12 "file"` and `#pragma GCC system_header` rename later places.
  void renamed(clang::SourceLocation location, uint64_t kind, bool by_pragma);
  bool is_start_of_file(clang::SourceLocation location) const;
  bool is_predefined(clang::SourceLocation location) const;

  // Tokens cannot represent the rest of the source.
  void give_up() { usable_ = false; }
  std::optional<Preprocessed> finish(const Digest& messages);

private:
  void settle();
  void start_declaration(clang::SourceLocation location);
  void end_declaration();
  void take(const Declaration& declaration);
  void record(const clang::Token& token);
  void mention(const clang::IdentifierInfo& identifier);
  void mention_words_of(llvm::StringRef text);
  bool knows_pragma(llvm::StringRef first, llvm::StringRef second);
  void note_content(clang::FileID file);
  WordsRead& reads() { return declaration_ ? declaration_->reads : reads_; }
  bool look_at_words(llvm::StringRef text);
  void look_at(const clang::IdentifierInfo& identifier);
  void look_at_assembly(const clang::Token& token, llvm::StringRef text);
  void pragma_word(llvm::StringRef word);
  void embed(const clang::Token& token);
  void place(clang::SourceLocation location);
  void place_in(clang::FileID file, unsigned offset, bool expanded);
  Lines& lines_of(clang::FileID file);

  const session::Session& session_;
  clang::Preprocessor& preprocessor_;
  const clang::SourceManager& sources_;
  bool openmp_;
  bool with_content_, may_wait_, listening_;
  bool usable_ = true;
  bool macros_in_pragma_ = false;
  // Listening:
  bool in_openmp_ = false, at_end_ = false;
  unsigned words_to_skip_ = 0;

  TokenStream stream_;
  clang::FileID file_;      // of the last place
  Lines* lines_ = nullptr;  // of that file
  clang::FileID expansion_; // of the last place in a macro; followed by begin and end of its expansion
  std::pair<clang::FileID, unsigned> begin_;
  uint64_t end_ = 0;
  llvm::DenseMap<clang::FileID, std::unique_ptr<Lines>> lines_of_;
  llvm::DenseSet<clang::FileID> with_content_already_;
  WordsRead reads_; // of all that was taken
  llvm::DenseSet<const clang::IdentifierInfo*> seen_;

  // At file scope:
  WaitingDeclarations waiting_;
  DeclarationReader reader_;               // of the current declaration
  bool between_declarations_ = true;       // the next token starts one
  bool has_own_declarations_ = false;      // some that cannot wait
  std::optional<Declaration> declaration_; // the current one, if it may wait
  std::string entries_;                    // its entries so far
  llvm::DenseSet<const clang::IdentifierInfo*> mentioned_, seen_in_declaration_; // in it
  unsigned diagnostic_pushes_ = 0;                                               // in it
  clang::FileID outer_file_;                                                     // file_ and lines_ before it
  Lines* outer_lines_ = nullptr;
  uint64_t pragmas_ = 0;
  bool after_pragma_ = false;
  bool unknown_pragma_ = false; // the last pragma may be one that ends the waiting

  // Within the parentheses of inline assembly:
  struct {
    bool started = false;    // by `asm`
    unsigned depth = 0;      // of parentheses
    unsigned colons = 0;     // operands are after the first two
    bool after_text = false; // the last token was a string
  } assembly_;
  llvm::DenseSet<const clang::MacroInfo*> expanded_;
  std::set<std::string> macros_; // expanded, with their places
  llvm::SmallString<256> spelling_;
  Preprocessed result_;
};

} // namespace xaas::known
