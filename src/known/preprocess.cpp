// Problem: decide without compiling whether a compile would give an IR module that is already known.
//
// Example: `config.h` of two configurations differs in one line, `#define HAVE_FFTW 1`.
//
//     #include "config.h"                #include "config.h"
//     int twice(int a);                  #ifdef HAVE_FFTW
//                                        void plan(void);
//                                        #endif
//
// Without debug information, the tokens of the left file and their places are equal in both configurations,
// so its digest is, too, and the second configuration does not compile it. Those of the right file differ,
// and it is compiled twice. A line that is added above `twice` moves it to another place, and gives another
// digest, even if nothing reads the place.
//
// Approach: the front end behind the preprocessor is a function of the tokens, their places, the pragmas, the
// options and the target. All of these are hashed. Places are always hashed, though few programs read them
// (`__builtin_LINE`, lambdas in `__PRETTY_FUNCTION__`, debug information): a list of what reads places could
// have a gap, and configurations of one project seldom differ in places alone.
//
// Declarations of Clang's headers are hashed where the source first mentions them (waiting_declarations.cpp).
//
// Rejected: the text of `clang -E`, which has no columns, loses macros in pragmas, and costs more to print
// than tokens cost to hash; the digests of the files that are read, because of the left file above. (Files
// that are equal save the preprocessor's run: inputs.cpp.)
//
// The preprocessor costs a tenth of a compile, so it does not run twice if a compile is certain: a listener
// takes the same stream from the compile's own preprocessor. The parser changes what passes there (pragmas
// become annotations, tokens are looked at again, keywords become identifiers). So only what is the same in
// both is recorded, and if that is impossible (pragmas with macros in them), the listener has no result.
#include "inputs_recorder.h"
#include "options.h"
#include "token_recorder.h"

#include <xaas/known/include_names.h>
#include <xaas/known/places.h>
#include <xaas/known/preprocess.h>

#include <clang/Basic/Builtins.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <clang/Lex/LexDiagnostic.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace xaas::known {

namespace {

class Callbacks : public clang::PPCallbacks {
public:
  explicit Callbacks(TokenRecorder& recorder) : recorder_(recorder) {}
  void FileChanged(clang::SourceLocation location, FileChangeReason reason,
                   clang::SrcMgr::CharacteristicKind kind, clang::FileID left) override {
    // `# 1 "file" 1` begins a file in the middle of another. `# 9 "file" 2` ends one without leaving a file.
    const bool marker = (reason == EnterFile && !recorder_.is_start_of_file(location)) ||
                        (reason == ExitFile && left.isInvalid());
    const bool by_pragma = reason == SystemHeaderPragma;
    if (marker || by_pragma || reason == RenameFile)
      recorder_.renamed(location, uint64_t(reason) << 8 | kind, by_pragma);
  }
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, clang::SourceRange,
                    const clang::MacroArgs*) override {
    recorder_.expanded(name, definition);
  }
  void PragmaDirective(clang::SourceLocation location, clang::PragmaIntroducerKind kind) override {
    recorder_.pragma(location, kind);
  }
  // The preprocessor's own pragmas, which never become tokens, even if written as _Pragma.
  void PragmaDiagnosticPush(clang::SourceLocation location, llvm::StringRef) override {
    recorder_.pragma_done(location, 1);
  }
  void PragmaDiagnosticPop(clang::SourceLocation location, llvm::StringRef) override {
    recorder_.pragma_done(location, 2);
  }
  void PragmaDiagnostic(clang::SourceLocation location, llvm::StringRef, clang::diag::Severity severity,
                        llvm::StringRef text) override {
    recorder_.pragma_done(location, 3 + uint64_t(severity), std::string_view(text));
  }
  void PragmaMessage(clang::SourceLocation location, llvm::StringRef, PragmaMessageKind kind,
                     llvm::StringRef text) override {
    recorder_.pragma_done(location, 32 + uint64_t(kind), std::string_view(text));
  }
  void PragmaAssumeNonNullBegin(clang::SourceLocation location) override {
    recorder_.pragma_done(location, 48);
  }
  void PragmaAssumeNonNullEnd(clang::SourceLocation location) override {
    recorder_.pragma_done(location, 49);
  }
  void Ident(clang::SourceLocation location, llvm::StringRef text) override {
    recorder_.change(location, 50, std::string_view(text));
  }
  void moduleImport(clang::SourceLocation, clang::ModuleIdPath, const clang::Module*) override {
    recorder_.give_up();
  }

private:
  TokenRecorder& recorder_;
};

// Handles every pragma that the preprocessor leaves to the parser. The parser expands macros in some pragmas
// only, so a pragma that may contain macros is recorded in both forms.
class AnyPragma : public clang::PragmaHandler {
public:
  AnyPragma(TokenRecorder& recorder, std::string_view space) : recorder_(recorder), space_(space) {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer,
                    clang::Token& first) override {
    if (!recorder_.macros_in_pragma())
      return;
    llvm::SmallVector<clang::Token, 16> tokens;
    clang::Token token = first;
    if (first.isNot(clang::tok::eod) && first.isNot(clang::tok::eof)) {
      recorder_.pragma_name(space_, first);
      tokens.push_back(first);
      preprocessor.LexUnexpandedToken(token);
    }
    while (token.isNot(clang::tok::eod) && token.isNot(clang::tok::eof)) {
      recorder_.pragma_token(token);
      tokens.push_back(token);
      preprocessor.LexUnexpandedToken(token);
    }
    tokens.push_back(token);
    if (token.is(clang::tok::eof))
      return;
    preprocessor.EnterTokenStream(tokens, false, false);
    if (tokens.size() > 1) // the parser does not expand the first word either
      preprocessor.LexUnexpandedToken(token);
    do {
      preprocessor.Lex(token);
      recorder_.pragma_token(token);
    } while (token.isNot(clang::tok::eod) && token.isNot(clang::tok::eof));
  }

private:
  TokenRecorder& recorder_;
  std::string_view space_;
};

// The preprocessor's messages (#warning, -Wundef) leave no token, but belong to the compile's messages. The
// parser reports unknown pragmas.
bool is_of_preprocessor(unsigned message) {
  return message >= clang::diag::DIAG_START_LEX && message < clang::diag::DIAG_START_PARSE &&
         message != clang::diag::warn_pragma_ignored;
}

class Messages : public clang::DiagnosticConsumer {
public:
  explicit Messages(const session::Session& session) : session_(session) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& message) override {
    DiagnosticConsumer::HandleDiagnostic(level, message);
    all_in_files_ &= is_in_file(message);
    if (!is_of_preprocessor(message.getID()))
      return;
    any_ = true;
    llvm::SmallString<256> text;
    message.FormatDiagnostic(text);
    hasher_.update_number(level);
    hasher_.update_number(message.getID());
    add(without_places(session_, text.str().str()));
    if (!message.hasSourceManager() || message.getLocation().isInvalid())
      return;
    const clang::PresumedLoc place = message.getSourceManager().getPresumedLoc(message.getLocation());
    if (place.isInvalid())
      return;
    add(name_without_place(session_, place.getFilename()));
    hasher_.update_number(uint64_t(place.getLine()) << 32 | place.getColumn());
  }

  Digest digest() { return hasher_.finish(); }
  // False if one of the preprocessor's messages, or a note about it, may show a line of the predefined
  // macros. Its number depends on the target.
  bool are_of_files() const { return !any_ || all_in_files_; }

private:
  static bool is_in_file(const clang::Diagnostic& message) {
    if (!message.hasSourceManager() || message.getLocation().isInvalid())
      return false;
    const clang::SourceManager& sources = message.getSourceManager();
    return sources.getFileEntryForID(sources.getFileID(sources.getExpansionLoc(message.getLocation()))) !=
           nullptr;
  }

  void add(const std::string& text) { hasher_.update_part(text); }
  const session::Session& session_;
  Hasher hasher_;
  bool any_ = false, all_in_files_ = true;
};

// True if declarations that nothing uses leave no trace.
bool may_wait(const clang::CompilerInstance& compiler) {
  const clang::LangOptions& language = compiler.getLangOpts();
  const clang::CodeGenOptions& codegen = compiler.getCodeGenOpts();
  return (language.C99 || language.CPlusPlus) && !language.CUDA && !language.HIP && !language.OpenCL &&
         !language.ObjC && !language.MicrosoftExt && !language.EmitAllDecls &&
         language.OMPTargetTriples.empty() && !language.OpenMPIsTargetDevice &&
         codegen.getDebugInfo() < llvm::codegenoptions::UnusedTypeInfo && !codegen.CoverageMapping &&
         compiler.getDiagnostics().getSuppressSystemWarnings();
}

std::optional<Preprocessed> result_of(TokenRecorder& recorder, Messages& messages, InputsRecorder& inputs,
                                      clang::CompilerInstance& compiler) {
  std::optional<Preprocessed> result = recorder.finish(messages.digest());
  if (!result)
    return result;
  describe_target(compiler, *result);
  if (messages.are_of_files())
    result->inputs = inputs.finish(compiler, *result);
  return result;
}

class RecordAction : public clang::PreprocessorFrontendAction {
public:
  RecordAction(const session::Session& session, Messages& messages, InputsRecorder& inputs)
      : session_(session), messages_(messages), inputs_(inputs) {}
  std::optional<Preprocessed> result;

protected:
  void ExecuteAction() override {
    clang::CompilerInstance& compiler = getCompilerInstance();
    clang::Preprocessor& preprocessor = compiler.getPreprocessor();
    TokenRecorder recorder(session_, preprocessor, has_debug_information(session_, compiler.getInvocation()),
                           may_wait(compiler), false);
    preprocessor.addPPCallbacks(std::make_unique<Callbacks>(recorder));
    inputs_.attach(compiler);
    keep_names_in_includes(compiler);
    for (const char* space : {"", "GCC", "clang"})
      preprocessor.AddPragmaHandler(space, new AnyPragma(recorder, space)); // the preprocessor owns it
    preprocessor.EnterMainSourceFile();
    clang::Token token;
    do {
      preprocessor.Lex(token);
      recorder.token(token);
    } while (token.isNot(clang::tok::eof));
    if (compiler.getDiagnostics().hasErrorOccurred())
      return;
    result = result_of(recorder, messages_, inputs_, compiler);
  }

private:
  const session::Session& session_;
  Messages& messages_;
  InputsRecorder& inputs_;
};

} // namespace

bool is_lock_free_query(const clang::IdentifierInfo& identifier) {
  return identifier.getBuiltinID() != clang::Builtin::NotBuiltin &&
         identifier.getName().contains("lock_free");
}

bool is_header_of_clang(const clang::SourceManager& sources, clang::FileID file,
                        const clang::HeaderSearchOptions& options) {
  const clang::OptionalFileEntryRef entry = sources.getFileEntryRefForID(file);
  return entry && entry->getName().starts_with(options.ResourceDir + "/include/");
}

std::optional<Preprocessed> preprocess(const session::Session& session,
                                       const clang::CompilerInvocation& invocation,
                                       llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
  InputsRecorder inputs(session, invocation, std::move(files));
  clang::CompilerInstance compiler(std::make_shared<clang::CompilerInvocation>(invocation));
  compiler.createVirtualFileSystem(inputs.files());
  Messages messages(session);
  compiler.createDiagnostics(&messages, false);
  compiler.setVerboseOutputStream(llvm::nulls());
  if (!compiler.hasDiagnostics())
    return std::nullopt;
  RecordAction action(session, messages, inputs);
  if (!compiler.ExecuteAction(action))
    return std::nullopt;
  return std::move(action.result);
}

struct TokenListener::State {
  State(const session::Session& session, const clang::CompilerInvocation& invocation,
        llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
      : session(session), messages(session), inputs(session, invocation, std::move(files)) {}
  const session::Session& session;
  Messages messages;
  InputsRecorder inputs;
  std::optional<TokenRecorder> recorder;
};

TokenListener::TokenListener(const session::Session& session, const clang::CompilerInvocation& invocation,
                             llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
    : state_(std::make_unique<State>(session, invocation, std::move(files))) {}
TokenListener::~TokenListener() = default;

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> TokenListener::files() const {
  return state_->inputs.files();
}

clang::DiagnosticConsumer& TokenListener::messages() {
  return state_->messages;
}

void TokenListener::attach(clang::CompilerInstance& compiler) {
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  TokenRecorder& recorder = state_->recorder.emplace(
      state_->session, preprocessor, has_debug_information(state_->session, compiler.getInvocation()),
      may_wait(compiler), true);
  preprocessor.addPPCallbacks(std::make_unique<Callbacks>(recorder));
  preprocessor.setTokenWatcher([&recorder](const clang::Token& token) { recorder.listened(token); });
  state_->inputs.attach(compiler);
}

std::optional<Preprocessed> TokenListener::finish(clang::CompilerInstance& compiler) {
  return result_of(*state_->recorder, state_->messages, state_->inputs, compiler);
}

} // namespace xaas::known
