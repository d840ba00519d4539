// Problem: to know that a compile will give an IR module that is known already, without compiling.
//
// Approach: the front end behind the preprocessor is a function of the tokens, their places, the pragmas, the
// options and the target. All of these are hashed. Places are hashed always, though few programs read them
// (`__builtin_LINE`, lambdas in `__PRETTY_FUNCTION__`, debug information): a list of what reads places could
// have a gap, and configurations of one project seldom differ in places alone.
//
// Rejected: the text of `clang -E` (it has no columns, loses macros in pragmas, and printing costs more than
// hashing); the digests of the files that are read (a generated `config.h` differs between all configurations
// of a project, and most files read nothing of the difference).
//
// The preprocessor costs a tenth of a compile, so where a compile is certain it does not run twice: a
// listener takes the same stream from the compile's own preprocessor. The parser changes what passes there
// (pragmas become annotations, tokens are looked at again, keywords become identifiers), so only what is the
// same in both is recorded, and where it cannot be (pragmas with macros in them), the listener has no result.
#include "preprocess.h"
#include "places.h"

#include <clang/Basic/Builtins.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/LexDiagnostic.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace xaas::capture {

namespace {

// Collects the stream. Every entry starts with its kind, and texts have their length before them, so that no
// two streams look alike.
class Stream {
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

enum Entry : uint64_t { entry_token, entry_change, entry_pragma, entry_content, entry_embed };

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

// Lines and columns of a file, asked for from its beginning to its end, with few steps back. SourceManager's
// own answers cost more than the preprocessor does.
class Lines {
public:
  explicit Lines(llvm::StringRef text) : text_(text), carriage_returns_(text.contains('\r')) {}

  // A number for each place, equal where line and column are.
  uint64_t at(size_t offset) {
    while (offset < start_) {
      start_ = start_ < 2 ? 0 : last_end(start_ - 1);
      --line_;
    }
    for (size_t next = next_start(); next <= offset; next = next_start()) {
      start_ = next;
      ++line_;
    }
    return line_ << 30 | (offset - start_);
  }

private:
  // A carriage return alone ends a line, too.
  bool ends_line(size_t at) const {
    return text_[at] == '\n' || (text_[at] == '\r' && (at + 1 == text_.size() || text_[at + 1] != '\n'));
  }
  size_t next_start() const {
    size_t at = start_;
    if (!carriage_returns_) {
      const size_t end = text_.find('\n', at);
      return end == llvm::StringRef::npos ? end : end + 1;
    }
    while (at < text_.size() && !ends_line(at))
      ++at;
    return at < text_.size() ? at + 1 : llvm::StringRef::npos;
  }
  // The start of the line that ends before `end`.
  size_t last_end(size_t end) const {
    size_t at = end;
    while (at > 0 && !ends_line(at - 1))
      --at;
    return at;
  }

  llvm::StringRef text_;
  bool carriage_returns_;
  uint64_t line_ = 1;
  size_t start_ = 0; // of that line
};

class Recorder {
public:
  Recorder(const Session& session, clang::Preprocessor& preprocessor, bool with_content, bool listening)
      : session_(session), preprocessor_(preprocessor), sources_(preprocessor.getSourceManager()),
        openmp_(preprocessor.getLangOpts().OpenMP || preprocessor.getLangOpts().OpenMPSimd),
        with_content_(with_content), listening_(listening) {}

  void token(const clang::Token& token) {
    if (token.isAnnotation()) {
      embed(token);
      return;
    }
    if (listening_ && macros_in_pragma_)
      usable_ = false;
    const clang::IdentifierInfo* identifier = token.getIdentifierInfo();
    llvm::StringRef text;
    if (identifier) {
      look_at(*identifier);
      text = identifier->getName();
    } else if (token.isLiteral()) {
      spelling_.clear();
      text = preprocessor_.getSpelling(token, spelling_);
      result_.reads_instruction_set |= token.is(clang::tok::numeric_constant) && is_of_half(text);
    }
    // The parser makes identifiers of some keywords, once it has met them as names.
    const unsigned kind = identifier ? clang::tok::identifier : token.getKind();
    stream_.number(entry_token | uint64_t(kind) << 8 | uint64_t(text.size()) << 32);
    place(token.getLocation());
    stream_.raw(std::string_view(text));
    // A type that has an attribute from a macro is printed with the macro's name.
    if (token.is(clang::tok::kw___attribute) && token.getLocation().isMacroID())
      stream_.text(std::string_view(
          clang::Lexer::getImmediateMacroName(token.getLocation(), sources_, preprocessor_.getLangOpts())));
  }

  // The first word of a pragma after its namespace (GCC, clang, or none) says what it is, and asks nothing.
  void pragma_name(std::string_view space, const clang::Token& first) {
    stream_.number(entry_pragma);
    stream_.text(space);
    place(first.getLocation());
    stream_.text(preprocessor_.getSpelling(first));
  }

  void pragma_word(llvm::StringRef word) {
    if (!openmp_)
      return;
    result_.asks_atomic_width |= pragma_asks_atomic_width(word);
    result_.reads_instruction_set |= pragma_reads_instruction_set(word);
  }

  // Of the pragma before: whether its tokens say more than its text, because macros are expanded in it.
  bool macros_in_pragma() const { return macros_in_pragma_; }

  // One token of a compile's own preprocessor.
  void listened(const clang::Token& token) {
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
    case clang::tok::annot_pragma_weak: // these have words of the pragma after them
    case clang::tok::annot_pragma_unused:
      words_to_skip_ = 1;
      break;
    case clang::tok::annot_pragma_weakalias:
    case clang::tok::annot_pragma_redefine_extname:
      words_to_skip_ = 2;
      break;
    case clang::tok::annot_embed:
      embed(token);
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

  void change(clang::SourceLocation location, uint64_t what, std::string_view text = {}) {
    macros_in_pragma_ = false; // the preprocessor's own, with its meaning here
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

  void pragma(clang::SourceLocation location, clang::PragmaIntroducerKind kind) {
    const llvm::StringRef text = line_at(location);
    stream_.number(entry_pragma);
    place(location);
    stream_.text(std::string_view(text));
    macros_in_pragma_ = kind != clang::PIK_HashPragma || text.empty() || !words_of_pragma(text);
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
  // The line with those that continue it; nothing in a macro.
  llvm::StringRef line_at(clang::SourceLocation location) const {
    bool invalid = !location.isFileID();
    const llvm::StringRef rest(invalid ? "" : sources_.getCharacterData(location, &invalid));
    if (invalid)
      return {};
    size_t end = rest.find('\n');
    while (end != llvm::StringRef::npos && rest.substr(0, end).rtrim(" \t\r").ends_with("\\"))
      end = rest.find('\n', end + 1);
    return rest.substr(0, end);
  }

  // Looks at the words of a pragma; false if they may be more or others than its text has.
  bool words_of_pragma(llvm::StringRef text) {
    constexpr llvm::StringLiteral letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (text.contains("/*") || text.contains("??") || text.contains("\\u") ||
        llvm::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
      return false;
    unsigned count = 0;
    for (size_t at = text.find_first_of(letters); at != llvm::StringRef::npos;) {
      const size_t end = std::min(text.find_first_not_of(letters, at), text.size());
      const llvm::StringRef word = text.substr(at, end - at);
      at = text.find_first_of(letters, end);
      const clang::IdentifierInfo& identifier = *preprocessor_.getIdentifierInfo(word);
      if (identifier.hasMacroDefinition())
        return false;
      if (++count <= 2) // "pragma", and what says which
        continue;
      look_at(identifier);
      result_.reads_instruction_set |= is_of_half(word);
      pragma_word(word);
    }
    return true;
  }

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

  // A place is one number, and what does not fit into it: the name of a file other than the place's before,
  // the end of a macro's expansion (which is what __builtin_LINE gives).
  void place(clang::SourceLocation location) {
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

  void place_in(clang::FileID file, unsigned offset, bool expanded) {
    const bool other = file != file_;
    if (other) {
      file_ = file;
      lines_ = &lines_of(file);
    }
    stream_.number(lines_->at(offset) << 2 | uint64_t(expanded) << 1 | uint64_t(other));
    if (!other)
      return;
    const clang::SourceLocation start = sources_.getLocForStartOfFile(file);
    const clang::PresumedLoc presumed = sources_.getPresumedLoc(start, false);
    stream_.text(presumed.isValid() ? portable(presumed.getFilename()) : std::string());
    stream_.number(sources_.getFileCharacteristic(start));
  }

  Lines& lines_of(clang::FileID file) {
    std::unique_ptr<Lines>& lines = lines_of_[file];
    if (!lines)
      lines = std::make_unique<Lines>(sources_.getBufferData(file));
    return *lines;
  }

  std::string portable(llvm::StringRef name) const {
    return name_without_place(session_, std::string_view(name));
  }

  const Session& session_;
  clang::Preprocessor& preprocessor_;
  const clang::SourceManager& sources_;
  bool openmp_, with_content_, listening_;
  bool usable_ = true;
  bool macros_in_pragma_ = false;
  // Listening:
  bool in_openmp_ = false, at_end_ = false;
  unsigned words_to_skip_ = 0;
  Stream stream_;
  clang::FileID file_;      // of the last place
  Lines* lines_ = nullptr;  // its
  clang::FileID expansion_; // of the last place in a macro, with begin and end of its expansion
  std::pair<clang::FileID, unsigned> begin_;
  uint64_t end_ = 0;
  llvm::DenseMap<clang::FileID, std::unique_ptr<Lines>> lines_of_;
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
  void PragmaDirective(clang::SourceLocation location, clang::PragmaIntroducerKind kind) override {
    recorder_.pragma(location, kind);
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
// where there may be any, both forms are recorded.
class AnyPragma : public clang::PragmaHandler {
public:
  AnyPragma(Recorder& recorder, std::string_view space) : recorder_(recorder), space_(space) {}

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
    if (const clang::IdentifierInfo* identifier = token.getIdentifierInfo())
      recorder_.pragma_word(identifier->getName());
  }
  Recorder& recorder_;
  std::string_view space_;
};

// What the preprocessor says (#warning, -Wundef) leaves no token, but is part of a compile's messages.
// Pragmas that nobody knows are the parser's to say.
bool is_of_preprocessor(unsigned message) {
  return message >= clang::diag::DIAG_START_LEX && message < clang::diag::DIAG_START_PARSE &&
         message != clang::diag::warn_pragma_ignored;
}

class Messages : public clang::DiagnosticConsumer {
public:
  explicit Messages(const Session& session) : session_(session) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& message) override {
    DiagnosticConsumer::HandleDiagnostic(level, message);
    if (!is_of_preprocessor(message.getID()))
      return;
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

bool has_debug_information(const Session& session, const clang::CompilerInstance& compiler) {
  return compiler.getCodeGenOpts().getDebugInfo() != llvm::codegenoptions::NoDebugInfo &&
         !session.strip_debug;
}

void describe_target(const clang::CompilerInstance& compiler, Preprocessed& result) {
  for (const auto& feature : compiler.getTarget().getTargetOpts().FeatureMap)
    if (feature.getValue())
      result.features.push_back(feature.getKey().str());
  std::sort(result.features.begin(), result.features.end());
  result.atomic_width = compiler.getTarget().getMaxAtomicInlineWidth();
}

class RecordAction : public clang::PreprocessorFrontendAction {
public:
  RecordAction(const Session& session, Messages& messages) : session_(session), messages_(messages) {}
  std::optional<Preprocessed> result;

protected:
  void ExecuteAction() override {
    clang::CompilerInstance& compiler = getCompilerInstance();
    clang::Preprocessor& preprocessor = compiler.getPreprocessor();
    Recorder recorder(session_, preprocessor, has_debug_information(session_, compiler), false);
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
      describe_target(compiler, *result);
  }

private:
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

struct TokenListener::State {
  explicit State(const Session& session) : session(session), messages(session) {}
  const Session& session;
  Messages messages;
  std::optional<Recorder> recorder;
};

TokenListener::TokenListener(const Session& session) : state_(std::make_unique<State>(session)) {}
TokenListener::~TokenListener() = default;

clang::DiagnosticConsumer& TokenListener::messages() {
  return state_->messages;
}

void TokenListener::attach(clang::CompilerInstance& compiler) {
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  Recorder& recorder = state_->recorder.emplace(state_->session, preprocessor,
                                                has_debug_information(state_->session, compiler), true);
  preprocessor.addPPCallbacks(std::make_unique<Callbacks>(recorder));
  preprocessor.setTokenWatcher([&recorder](const clang::Token& token) { recorder.listened(token); });
}

std::optional<Preprocessed> TokenListener::finish(clang::CompilerInstance& compiler) {
  std::optional<Preprocessed> result = state_->recorder->finish(state_->messages.digest());
  if (result)
    describe_target(compiler, *result);
  return result;
}

} // namespace xaas::capture
