// Macros that are defined before the source starts, and which of them a source reads.
#pragma once

#include "definitions.h"

#include <xaas/base/digest.h>

#include <clang/Basic/SourceLocation.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clang {
class CompilerInstance;
class IdentifierInfo;
} // namespace clang

namespace xaas::known {

struct PredefinedMacros {
  // Those that may differ between two compiles of the same result: Clang's own, without parameters, whose
  // names start with two underscores. The text after the name.
  std::map<std::string, std::string, std::less<>> open;
  Digest others; // everything else that Clang itself defines or says before the source starts

  // The compiler has a preprocessor. It need not have run.
  static PredefinedMacros of(clang::CompilerInstance& compiler);
};

// What a source read of open macros.
struct MacrosRead {
  std::map<std::string, std::string, std::less<>> defined; // those that it read
  // Hashes of the other words that it may have looked up, sorted. A word that was not a macro may be one in
  // another compile.
  std::vector<uint32_t> words;

  // True if the source reads the same of these macros.
  bool are_same_in(const PredefinedMacros& macros) const;
};

// Notices macros that are read while a preprocessor runs.
class MacroWatch {
public:
  // Call it before the main file is entered. The watch must outlive the preprocessor's run.
  void attach(clang::Preprocessor& preprocessor);
  // Call it after the run. Nothing if something else than these macros and files decides what Clang's builtin
  // macros (`__TIME__`) and pragmas do.
  std::optional<MacrosRead> finish(clang::CompilerInstance& compiler, const PredefinedMacros& macros);

  // After finish(): the names of a file's places that Clang met there, and nothing looked up elsewhere.
  std::set<std::string> unread_names(const clang::Preprocessor& preprocessor,
                                     const DefinitionFile& file) const;

  void read(const clang::IdentifierInfo& name) { read_.insert(&name); }
  void read_builtin(std::string_view name);
  // Pragmas may look up any of their words. The text that has them starts in a file, with a directive or not.
  void read_pragma(clang::Preprocessor& preprocessor, clang::SourceLocation start, bool in_directive);

private:
  // A comment that may be `/* #undef NAME */`.
  struct Comment : clang::CommentHandler {
    bool HandleComment(clang::Preprocessor& preprocessor, clang::SourceRange comment) override;
    std::vector<clang::SourceRange> found;
  };
  // Where in a file with one text; 0: elsewhere.
  using LineInFile = std::function<unsigned(clang::SourceLocation)>;
  bool is_unread(const clang::Preprocessor& preprocessor, const std::string& name,
                 const DefinitionFile::Place& place, const std::set<unsigned>& lines_of_comments,
                 const LineInFile& line_in_file) const;
  void read_made_text(clang::Preprocessor& preprocessor);

  llvm::DenseSet<const clang::IdentifierInfo*> read_;
  Comment comments_;
  bool complete_ = true, asks_for_builtins_ = false;
};

// What decides the value of one of Clang's builtin macros.
enum class BuiltinMacro {
  inputs,   // files, options, language and triple
  features, // of the target
  other     // the time; a macro that this program does not know
};
BuiltinMacro kind_of_builtin_macro(std::string_view name);

} // namespace xaas::known
