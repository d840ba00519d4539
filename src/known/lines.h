// Lines and columns of tokens.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>

#include <cstddef>
#include <cstdint>

namespace clang {
class LangOptions;
class SourceLocation;
class SourceManager;
} // namespace clang

namespace xaas::known {

// Lines and columns of a file, queried mostly in file order. SourceManager's own queries cost more than the
// preprocessor.
class Lines {
public:
  explicit Lines(llvm::StringRef text) : text_(text), carriage_returns_(text.contains('\r')) {}
  // A number for a place: equal for equal line and column.
  uint64_t at(size_t offset);

  bool of_clang = false; // such as a header of intrinsics

private:
  bool ends_line(size_t at) const;
  size_t next_start() const;
  size_t start_before(size_t end) const;

  llvm::StringRef text_;
  bool carriage_returns_;
  uint64_t line_ = 1;
  size_t start_ = 0; // offset of that line
};

// The line of a directive with its continuation lines; empty inside a macro.
llvm::StringRef line_of_directive(const clang::SourceManager& sources, clang::SourceLocation location);

// Calls `look` for each token that starts at this place of a file, as Clang reads it: with its lines joined,
// and without comments. Up to the end of the directive that starts there, which may be several lines, or of
// the file.
void for_each_token(const clang::SourceManager& sources, clang::SourceLocation location,
                    const clang::LangOptions& language, bool in_directive,
                    llvm::function_ref<void(llvm::StringRef)> look);

} // namespace xaas::known
