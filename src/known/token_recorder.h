// The stream of all that a preprocessor hands on, hashed while it runs.
#pragma once

#include <xaas/known/preprocess.h>

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Token.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallString.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace clang {
class IdentifierInfo;
class Preprocessor;
} // namespace clang

namespace xaas::known {

// Collects the stream. Every entry starts with its kind, and texts have their length before them, so that no
// two streams look alike.
class TokenStream {
public:
  void number(uint64_t value) {
    buffer_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    flush(64 << 10);
  }
  void text(std::string_view value) {
    number(value.size());
    raw(value);
  }
  void raw(std::string_view value) { buffer_.append(value); }
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
};

// Lines and columns of a file, asked for from its beginning to its end, with few steps back. SourceManager's
// own answers cost more than the preprocessor does.
class Lines {
public:
  explicit Lines(llvm::StringRef text) : text_(text), carriage_returns_(text.contains('\r')) {}
  // A number for each place, equal where line and column are.
  uint64_t at(size_t offset);

  bool of_clang = false; // a header of intrinsics, say

private:
  bool ends_line(size_t at) const;
  size_t next_start() const;
  size_t start_before(size_t end) const;

  llvm::StringRef text_;
  bool carriage_returns_;
  uint64_t line_ = 1;
  size_t start_ = 0; // of that line
};

// Takes the tokens either from a preprocessor that runs alone, by token(), or from that of a compile, by
// listened(): with the same result, or none.
class TokenRecorder {
public:
  TokenRecorder(const session::Session& session, clang::Preprocessor& preprocessor, bool with_content,
                bool listening);

  void token(const clang::Token& token);
  void listened(const clang::Token& token);

  // A pragma begins: its text. What macros make of it must follow, if macros_in_pragma().
  void pragma(clang::SourceLocation location, clang::PragmaIntroducerKind kind);
  bool macros_in_pragma() const { return macros_in_pragma_; }
  // Its first word after its namespace (GCC, clang, or none) says what it is, and asks nothing.
  void pragma_name(std::string_view space, const clang::Token& first);
  void pragma_token(const clang::Token& token);
  // It was the preprocessor's own, and did this.
  void pragma_done(clang::SourceLocation location, uint64_t what, std::string_view text = {});

  void change(clang::SourceLocation location, uint64_t what, std::string_view text = {});
  // #line, `# 12 "file"`, and `#pragma GCC system_header` change what later places are called.
  void renamed(clang::SourceLocation location, uint64_t kind, bool by_pragma);
  bool is_start_of_file(clang::SourceLocation location) const;
  void entered(clang::FileID file);

  // What comes cannot be told by tokens.
  void give_up() { usable_ = false; }
  std::optional<Preprocessed> finish(const Digest& messages);

private:
  void settle();
  llvm::StringRef line_at(clang::SourceLocation location) const;
  bool look_at_words(llvm::StringRef text);
  void look_at(const clang::IdentifierInfo& identifier);
  void pragma_word(llvm::StringRef word);
  void embed(const clang::Token& token);
  void place(clang::SourceLocation location);
  void place_in(clang::FileID file, unsigned offset, bool expanded);
  Lines& lines_of(clang::FileID file);

  const session::Session& session_;
  clang::Preprocessor& preprocessor_;
  const clang::SourceManager& sources_;
  bool openmp_;
  std::string headers_of_clang_;
  bool with_content_, listening_;
  bool usable_ = true;
  bool macros_in_pragma_ = false;
  // Listening:
  bool in_openmp_ = false, at_end_ = false;
  unsigned words_to_skip_ = 0;

  TokenStream stream_;
  clang::FileID file_;      // of the last place
  Lines* lines_ = nullptr;  // its
  clang::FileID expansion_; // of the last place in a macro, with begin and end of its expansion
  std::pair<clang::FileID, unsigned> begin_;
  uint64_t end_ = 0;
  llvm::DenseMap<clang::FileID, std::unique_ptr<Lines>> lines_of_;
  llvm::DenseSet<const clang::IdentifierInfo*> seen_, seen_in_clang_;
  llvm::SmallString<256> spelling_;
  Preprocessed result_;
};

} // namespace xaas::known
