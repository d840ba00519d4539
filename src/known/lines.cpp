#include "lines.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/Token.h>

namespace xaas::known {

uint64_t Lines::at(size_t offset) {
  while (offset < start_) {
    start_ = start_before(start_ - 1);
    --line_;
  }
  for (size_t next = next_start(); next <= offset; next = next_start()) {
    start_ = next;
    ++line_;
  }
  return line_ << 30 | (offset - start_);
}

// A carriage return alone ends a line, too.
bool Lines::ends_line(size_t at) const {
  return text_[at] == '\n' || (text_[at] == '\r' && (at + 1 == text_.size() || text_[at + 1] != '\n'));
}

size_t Lines::next_start() const {
  size_t at = start_;
  if (!carriage_returns_) {
    const size_t end = text_.find('\n', at);
    return end == llvm::StringRef::npos ? end : end + 1;
  }
  while (at < text_.size() && !ends_line(at))
    ++at;
  return at < text_.size() ? at + 1 : llvm::StringRef::npos;
}

// The start of the line that ends at `end`.
size_t Lines::start_before(size_t end) const {
  size_t at = end;
  while (at > 0 && !ends_line(at - 1))
    --at;
  return at;
}

llvm::StringRef line_of_directive(const clang::SourceManager& sources, clang::SourceLocation location) {
  bool invalid = !location.isFileID();
  const llvm::StringRef rest(invalid ? "" : sources.getCharacterData(location, &invalid));
  if (invalid)
    return {};
  size_t end = rest.find('\n');
  while (end != llvm::StringRef::npos && rest.substr(0, end).rtrim(" \t\r").ends_with("\\"))
    end = rest.find('\n', end + 1);
  return rest.substr(0, end);
}

void for_each_token(const clang::SourceManager& sources, clang::SourceLocation location,
                    const clang::LangOptions& language, bool in_directive,
                    llvm::function_ref<void(llvm::StringRef)> look) {
  const auto [file, offset] = sources.getDecomposedLoc(location);
  const std::optional<llvm::StringRef> text = sources.getBufferDataOrNone(file);
  if (!text)
    return;
  clang::Lexer lexer(sources.getLocForStartOfFile(file), language, text->begin(), text->begin() + offset,
                     text->end());
  clang::Token token;
  for (lexer.LexFromRawLexer(token); token.isNot(clang::tok::eof);) {
    look(clang::Lexer::getSpelling(token, sources, language));
    lexer.LexFromRawLexer(token);
    if (in_directive && token.isAtStartOfLine())
      return;
  }
}

} // namespace xaas::known
