#include <xaas/known/include_names.h>
#include <xaas/known/invocation.h>

#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <algorithm>
#include <utility>

namespace xaas::known {

namespace {

constexpr const char* macro_map_option = "-fmacro-prefix-map=";

// The name of the directive that contains a place; empty if there is none.
std::string directive_at(const clang::Preprocessor& preprocessor, clang::SourceLocation place) {
  const clang::SourceManager& sources = preprocessor.getSourceManager();
  const auto [file, offset] = sources.getDecomposedExpansionLoc(place);
  const llvm::StringRef text = sources.getBufferData(file);
  size_t start = offset;
  while (start > 0 && (text[start - 1] != '\n' || (start > 1 && text[start - 2] == '\\')))
    --start;
  clang::Lexer lexer(sources.getLocForStartOfFile(file), preprocessor.getLangOpts(), text.begin(),
                     text.begin() + start, text.end());
  clang::Token token;
  lexer.LexFromRawLexer(token);
  if (token.isNot(clang::tok::hash))
    return {};
  lexer.LexFromRawLexer(token);
  return token.is(clang::tok::raw_identifier) ? token.getRawIdentifier().str() : std::string();
}

// In conditions, only __has_include and __has_embed use a file name.
bool looks_for_file(const std::string& directive) {
  for (const char* each : {"include", "include_next", "import", "embed", "__include_macros", "if", "elif"})
    if (directive == each)
      return true;
  return false;
}

class KeepNames : public clang::PPCallbacks {
public:
  KeepNames(clang::CompilerInstance& compiler, bool* seen) : compiler_(compiler), seen_(seen) {}

  // Before the macro is expanded.
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition&, clang::SourceRange,
                    const clang::MacroArgs*) override {
    const llvm::StringRef macro = name.getIdentifierInfo()->getName();
    if ((macro != "__FILE__" && macro != "__BASE_FILE__") ||
        !looks_for_file(directive_at(compiler_.getPreprocessor(), name.getLocation())))
      return;
    if (seen_)
      *seen_ = true;
    if (kept_.empty())
      kept_ = std::exchange(compiler_.getLangOpts().MacroPrefixMap, {});
  }

  // Each of these marks the end of such a directive.
  void InclusionDirective(clang::SourceLocation, const clang::Token&, llvm::StringRef, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    restore();
  }
  void EmbedDirective(clang::SourceLocation, llvm::StringRef, bool, clang::OptionalFileEntryRef,
                      const clang::LexEmbedParametersResult&) override {
    restore();
  }
  void If(clang::SourceLocation, clang::SourceRange, ConditionValueKind) override { restore(); }
  void Elif(clang::SourceLocation, clang::SourceRange, ConditionValueKind, clang::SourceLocation) override {
    restore();
  }

private:
  void restore() {
    if (!kept_.empty())
      compiler_.getLangOpts().MacroPrefixMap = std::exchange(kept_, {});
  }

  clang::CompilerInstance& compiler_;
  bool* seen_;
  decltype(clang::LangOptions::MacroPrefixMap) kept_;
};

class LookAction : public clang::PreprocessOnlyAction {
public:
  bool seen = false;

protected:
  void ExecuteAction() override {
    clang::CompilerInstance& compiler = getCompilerInstance();
    compiler.getPreprocessor().addPPCallbacks(std::make_unique<KeepNames>(compiler, &seen));
    PreprocessOnlyAction::ExecuteAction();
  }
};

} // namespace

void keep_names_in_includes(clang::CompilerInstance& compiler) {
  compiler.getPreprocessor().addPPCallbacks(std::make_unique<KeepNames>(compiler, nullptr));
}

bool includes_by_own_name(const std::vector<std::string>& command) {
  clang::TextDiagnosticBuffer messages;
  std::shared_ptr<clang::CompilerInvocation> invocation = parse_command(command, messages);
  if (!invocation || invocation->getLangOpts().MacroPrefixMap.empty())
    return false;
  invocation->getDependencyOutputOpts() = clang::DependencyOutputOptions();
  clang::CompilerInstance compiler(std::move(invocation));
  compiler.createVirtualFileSystem(llvm::vfs::getRealFileSystem());
  compiler.createDiagnostics(new clang::IgnoringDiagConsumer);
  LookAction action;
  compiler.ExecuteAction(action);
  return action.seen;
}

std::vector<std::string> with_names_in_macros(std::vector<std::string> command) {
  std::erase_if(command, [](const std::string& word) { return word.starts_with(macro_map_option); });
  return command;
}

} // namespace xaas::known
