// Problem: to know that a compile will give an IR module that is known already, without compiling.
//
// Approach: the front end behind the preprocessor is a function of the tokens, their places, the pragmas, the
// options and the target. All of these are hashed. Places are hashed always, though few programs read them
// (`__builtin_LINE`, lambdas in `__PRETTY_FUNCTION__`, debug information): a list of what reads places could
// have a gap, and configurations of one project seldom differ in places alone.
//
// Rejected: the text of `clang -E` (it has no columns, loses macros in pragmas, and printing costs more than
// hashing); the digests of the files that are read (a generated `config.h` differs between all configurations
// of a project, and most files read nothing of the difference); taking the tokens from the compile itself (a
// second run of the preprocessor costs a tenth of a compile, and only where nothing is known).
#include "preprocess.h"
#include "places.h"

#include <clang/Basic/Builtins.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace xaas::capture {

namespace {

// Collects the stream. Every entry starts with its kind, and texts have their length in front, so that no two
// streams look alike.
class Stream {
public:
  void number(uint64_t value) {
    buffer_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    flush(64 << 10);
  }
  void text(std::string_view value) {
    number(value.size());
    buffer_.append(value);
  }
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

enum Entry : uint64_t { entry_token, entry_file, entry_change, entry_pragma, entry_content, entry_embed };

bool asks_atomic_width(const clang::IdentifierInfo& identifier) {
  const llvm::StringRef word = identifier.getName();
  const bool builtin = identifier.getBuiltinID() != clang::Builtin::NotBuiltin;
  return word == "_Atomic" ||
         (builtin && (word.starts_with("__atomic_") || word.starts_with("__c11_atomic_") ||
                      word.starts_with("__sync_") || word.starts_with("__scoped_atomic_")));
}

// Also of a number: 1.0f16, 1.0bf16, 1.0f16i.
bool is_of_half(llvm::StringRef word) {
  return word.contains_insensitive("f16");
}

// `HF` is a mode (`__attribute__((mode(HF)))`); `omp` outside of a pragma is `[[omp::directive(...)]]`;
// builtins like `__builtin_inff16` have the type in their name.
bool reads_instruction_set(llvm::StringRef word, bool openmp) {
  return (word.starts_with("__builtin_") && is_of_half(word)) || word.starts_with("__builtin_ia32_") ||
         word == "_Float16" || word == "__fp16" || word == "__bf16" || word == "HF" || word == "__HF__" ||
         word == "HC" || word == "__HC__" || word == "BF" || word == "__BF__" ||
         word == "__builtin_omp_required_simd_align" || (openmp && word == "omp");
}

// OpenMP's atomic updates and reductions are as wide as inline atomics may be.
bool pragma_asks_atomic_width(llvm::StringRef word) {
  return word == "atomic" || word.contains("reduction");
}

// Of OpenMP's clauses and directives, those that Clang answers from the instruction set.
bool pragma_reads_instruction_set(llvm::StringRef word) {
  return word == "aligned" || word == "variant" || word == "metadirective" || word == "match";
}

class Recorder {
public:
  Recorder(const Session& session, clang::Preprocessor& preprocessor, bool with_content)
      : session_(session), preprocessor_(preprocessor), sources_(preprocessor.getSourceManager()),
        openmp_(preprocessor.getLangOpts().OpenMP || preprocessor.getLangOpts().OpenMPSimd),
        with_content_(with_content) {}

  void token(const clang::Token& token) {
    if (token.isAnnotation()) {
      embed(token);
      return;
    }
    stream_.number(entry_token);
    place(token.getLocation());
    stream_.number(token.getKind());
    // A type that has an attribute from a macro is printed with the macro's name.
    if (token.is(clang::tok::kw___attribute) && token.getLocation().isMacroID())
      stream_.text(std::string_view(
          clang::Lexer::getImmediateMacroName(token.getLocation(), sources_, preprocessor_.getLangOpts())));
    if (const clang::IdentifierInfo* identifier = token.getIdentifierInfo()) {
      look_at(*identifier);
      stream_.text(identifier->getName());
    } else if (token.isLiteral()) {
      spelling_.clear();
      const llvm::StringRef spelling = preprocessor_.getSpelling(token, spelling_);
      result_.reads_instruction_set |= token.is(clang::tok::numeric_constant) && is_of_half(spelling);
      stream_.text(std::string_view(spelling));
    }
  }

  // The first word of a pragma after its namespace (GCC, clang, or none) says what it is, and asks nothing.
  void pragma_name(std::string_view space, const clang::Token& first) {
    change(first.getLocation(), 51, space);
    stream_.text(preprocessor_.getSpelling(first));
  }

  void pragma_word(const clang::Token& token) {
    const clang::IdentifierInfo* identifier = token.getIdentifierInfo();
    if (!openmp_ || !identifier)
      return;
    result_.asks_atomic_width |= pragma_asks_atomic_width(identifier->getName());
    result_.reads_instruction_set |= pragma_reads_instruction_set(identifier->getName());
  }

  void change(clang::SourceLocation location, uint64_t what, std::string_view text = {}) {
    stream_.number(entry_change);
    stream_.number(what);
    stream_.text(text);
    if (location.isValid())
      place(location);
  }

  bool is_start(clang::SourceLocation location) const {
    return sources_.getDecomposedLoc(location).second == 0;
  }

  // #line, `# 12 "file"`, and `#pragma GCC system_header` change what later places are called.
  void renamed(clang::SourceLocation location, uint64_t kind) {
    // Among the predefined macros their number would count, and no token lies there.
    if (sources_.getFileID(location) == preprocessor_.getPredefinesFileID())
      return;
    const clang::PresumedLoc presumed = sources_.getPresumedLoc(location);
    change(location, kind, presumed.isValid() ? portable(presumed.getFilename()) : std::string());
    stream_.number(presumed.isValid() ? presumed.getLine() : 0);
  }

  void pragma(clang::SourceLocation location) {
    stream_.number(entry_pragma);
    place(location);
    bool invalid = !location.isFileID();
    const llvm::StringRef rest(invalid ? "" : sources_.getCharacterData(location, &invalid));
    stream_.text(invalid ? std::string_view() : std::string_view(rest.substr(0, rest.find_first_of("\r\n"))));
  }

  void entered(clang::FileID file) {
    // Predefined macros are no file, and have no digest in debug information.
    if (!with_content_ || file.isInvalid() || !sources_.getFileEntryForID(file))
      return;
    stream_.number(entry_content);
    stream_.text(std::string_view(sources_.getBufferData(file)));
  }

  void give_up() { usable_ = false; }

  std::optional<Preprocessed> finish(const Digest& messages) {
    stream_.text(messages.hex());
    result_.text = stream_.finish();
    return usable_ ? std::optional(std::move(result_)) : std::nullopt;
  }

private:
  // A binary file (#embed) is one token. Other annotations stand for modules, which tokens do not show.
  void embed(const clang::Token& token) {
    if (token.isNot(clang::tok::annot_embed)) {
      usable_ = false;
      return;
    }
    stream_.number(entry_embed);
    place(token.getLocation());
    stream_.text(std::string_view(
        static_cast<const clang::EmbedAnnotationData*>(token.getAnnotationValue())->BinaryData));
  }

  void look_at(const clang::IdentifierInfo& identifier) {
    if (!seen_.insert(&identifier).second)
      return;
    result_.asks_atomic_width |= asks_atomic_width(identifier);
    result_.reads_instruction_set |= reads_instruction_set(identifier.getName(), openmp_);
  }

  void place(clang::SourceLocation location) {
    const auto [file, offset] = sources_.getDecomposedExpansionLoc(location);
    if (file != file_) {
      file_ = file;
      stream_.number(entry_file);
      const clang::SourceLocation start = sources_.getLocForStartOfFile(file);
      const clang::PresumedLoc presumed = sources_.getPresumedLoc(start, false);
      stream_.text(presumed.isValid() ? portable(presumed.getFilename()) : std::string());
      stream_.number(sources_.getFileCharacteristic(start));
    }
    const bool expanded = location.isMacroID();
    stream_.number(line_and_column(file, offset) << 1 | expanded);
    if (expanded) { // __builtin_LINE is the end of the expansion
      const auto [end_file, end] = sources_.getDecomposedLoc(sources_.getExpansionRange(location).getEnd());
      stream_.number(line_and_column(end_file, end));
    }
  }

  uint64_t line_and_column(clang::FileID file, unsigned offset) const {
    return uint64_t(sources_.getLineNumber(file, offset)) << 31 | sources_.getColumnNumber(file, offset);
  }

  std::string portable(llvm::StringRef name) const {
    return name_without_place(session_, std::string_view(name));
  }

  const Session& session_;
  clang::Preprocessor& preprocessor_;
  const clang::SourceManager& sources_;
  bool openmp_, with_content_;
  bool usable_ = true;
  Stream stream_;
  clang::FileID file_;
  llvm::DenseSet<const clang::IdentifierInfo*> seen_;
  llvm::SmallString<256> spelling_;
  Preprocessed result_;
};

class Callbacks : public clang::PPCallbacks {
public:
  explicit Callbacks(Recorder& recorder) : recorder_(recorder) {}
  void FileChanged(clang::SourceLocation location, FileChangeReason reason,
                   clang::SrcMgr::CharacteristicKind kind, clang::FileID left) override {
    // `# 1 "file" 1` says that a file begins, in the middle of another; `# 9 "file" 2`, that no file was
    // left.
    const bool marker =
        (reason == EnterFile && !recorder_.is_start(location)) || (reason == ExitFile && left.isInvalid());
    if (marker || reason == SystemHeaderPragma || reason == RenameFile)
      recorder_.renamed(location, uint64_t(reason) << 8 | kind);
  }
  void LexedFileChanged(clang::FileID file, LexedFileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                        clang::FileID, clang::SourceLocation) override {
    if (reason == LexedFileChangeReason::EnterFile)
      recorder_.entered(file);
  }
  void PragmaDirective(clang::SourceLocation location, clang::PragmaIntroducerKind) override {
    recorder_.pragma(location);
  }
  // The preprocessor's own pragmas, which never become tokens, also where they were written as _Pragma.
  void PragmaDiagnosticPush(clang::SourceLocation location, llvm::StringRef) override {
    recorder_.change(location, 1);
  }
  void PragmaDiagnosticPop(clang::SourceLocation location, llvm::StringRef) override {
    recorder_.change(location, 2);
  }
  void PragmaDiagnostic(clang::SourceLocation location, llvm::StringRef, clang::diag::Severity severity,
                        llvm::StringRef text) override {
    recorder_.change(location, 3 + uint64_t(severity), std::string_view(text));
  }
  void PragmaMessage(clang::SourceLocation location, llvm::StringRef, PragmaMessageKind kind,
                     llvm::StringRef text) override {
    recorder_.change(location, 32 + uint64_t(kind), std::string_view(text));
  }
  void PragmaAssumeNonNullBegin(clang::SourceLocation location) override { recorder_.change(location, 48); }
  void PragmaAssumeNonNullEnd(clang::SourceLocation location) override { recorder_.change(location, 49); }
  void Ident(clang::SourceLocation location, llvm::StringRef text) override {
    recorder_.change(location, 50, std::string_view(text));
  }
  void moduleImport(clang::SourceLocation, clang::ModuleIdPath, const clang::Module*) override {
    recorder_.give_up();
  }

private:
  Recorder& recorder_;
};

// Any pragma that the preprocessor leaves to the parser. The parser expands macros in some and not in others:
// both forms are recorded.
class AnyPragma : public clang::PragmaHandler {
public:
  AnyPragma(Recorder& recorder, std::string_view space) : recorder_(recorder), space_(space) {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer,
                    clang::Token& first) override {
    llvm::SmallVector<clang::Token, 16> tokens;
    clang::Token token = first;
    if (first.isNot(clang::tok::eod) && first.isNot(clang::tok::eof)) {
      recorder_.pragma_name(space_, first);
      tokens.push_back(first);
      preprocessor.LexUnexpandedToken(token);
    }
    while (token.isNot(clang::tok::eod) && token.isNot(clang::tok::eof)) {
      see(token);
      tokens.push_back(token);
      preprocessor.LexUnexpandedToken(token);
    }
    tokens.push_back(token);
    if (token.is(clang::tok::eof))
      return;
    preprocessor.EnterTokenStream(tokens, false, false);
    if (tokens.size() > 1) // the first is not expanded by the parser either, which has found it
      preprocessor.LexUnexpandedToken(token);
    do {
      preprocessor.Lex(token);
      see(token);
    } while (token.isNot(clang::tok::eod) && token.isNot(clang::tok::eof));
  }

private:
  void see(const clang::Token& token) {
    recorder_.token(token);
    recorder_.pragma_word(token);
  }
  Recorder& recorder_;
  std::string_view space_;
};

// What the preprocessor says (#warning, -Wundef) leaves no token, but is part of a compile's messages.
class Messages : public clang::DiagnosticConsumer {
public:
  explicit Messages(const Session& session) : session_(session) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& message) override {
    DiagnosticConsumer::HandleDiagnostic(level, message);
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

private:
  void add(const std::string& text) {
    hasher_.update_number(text.size());
    hasher_.update(text);
  }
  const Session& session_;
  Hasher hasher_;
};

class RecordAction : public clang::PreprocessorFrontendAction {
public:
  RecordAction(const Session& session, Messages& messages) : session_(session), messages_(messages) {}
  std::optional<Preprocessed> result;

protected:
  void ExecuteAction() override {
    clang::CompilerInstance& compiler = getCompilerInstance();
    clang::Preprocessor& preprocessor = compiler.getPreprocessor();
    const bool debug = compiler.getCodeGenOpts().getDebugInfo() != llvm::codegenoptions::NoDebugInfo &&
                       !session_.strip_debug;
    Recorder recorder(session_, preprocessor, debug);
    preprocessor.addPPCallbacks(std::make_unique<Callbacks>(recorder));
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
    result = recorder.finish(messages_.digest());
    if (result)
      describe_target(compiler);
  }

private:
  void describe_target(clang::CompilerInstance& compiler) {
    for (const auto& feature : compiler.getTarget().getTargetOpts().FeatureMap)
      if (feature.getValue())
        result->features.push_back(feature.getKey().str());
    std::sort(result->features.begin(), result->features.end());
    result->atomic_width = compiler.getTarget().getMaxAtomicInlineWidth();
  }

  const Session& session_;
  Messages& messages_;
};

} // namespace

std::optional<Preprocessed> preprocess(const Session& session, const clang::CompilerInvocation& invocation,
                                       llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
  clang::CompilerInstance compiler(std::make_shared<clang::CompilerInvocation>(invocation));
  compiler.createVirtualFileSystem(std::move(files));
  Messages messages(session);
  compiler.createDiagnostics(&messages, false);
  compiler.setVerboseOutputStream(llvm::nulls());
  if (!compiler.hasDiagnostics())
    return std::nullopt;
  RecordAction action(session, messages);
  if (!compiler.ExecuteAction(action))
    return std::nullopt;
  return std::move(action.result);
}

} // namespace xaas::capture
