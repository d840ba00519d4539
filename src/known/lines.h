// Lines and columns of tokens.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstddef>
#include <cstdint>

namespace clang {
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

} // namespace xaas::known
