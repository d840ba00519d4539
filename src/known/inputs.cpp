// Problem: a compile that is known from another configuration costs little but its preprocessor, which then
// is most of the time of all builds but the first: 0.06 of 0.09 s where compiling takes 0.65 s (LAMMPS).
//
// Example: a.cpp, built for x86-64 and then for x86-64-v3, which defines more macros.
//
//     #include <vector>        // asks for __SSE2__ and for __cpp_concepts; never for __AVX2__
//
//                  x86-64                                    x86-64-v3
//     macros       __SSE2__ 1, __cpp_concepts 202002, ...    the same, and __AVX__, __AVX2__, __FMA__, ...
//     files        a.cpp, ./vector (missing), vector, ...    the same
//     tokens       digest d                                  need not be made: d
//
// Approach: the preprocessor is a function of its options, the files, and the macros that are defined before
// the source starts. While it runs, three things are recorded:
//
//   files    each question to the file system with its answer, also "there is none": a header that appears
//            earlier on the search path changes the tokens, too (recorded_files.cpp)
//   macros   the predefined macros that were read, with their texts; and all other words that were looked up,
//            because another target may define them (predefined_macros.cpp)
//   result   the digest of the tokens and what else Preprocessed has, and the dependencies
//
// A later compile with the same options asks the same questions again. If the answers and macros are the
// same, its tokens are, too. Paths are recorded without the build's location and asked with that of the
// present one.
//
// Messages of the preprocessor may show the number of a line among the predefined macros, so runs with
// messages are not recorded, nor are those that read the time. Paths must mean the same in another build: a
// run is not recorded either if a file contains the path of a directory of the build, or if the name in an
// #include enters such a directory from above (`#include "build/config.h"` with the directory above as -I).
//
// Several runs of one source differ in their macros, or in the files of a configuration. The newest
// max_records are kept under one key, which covers the options. Two writers of this key may lose one of their
// records, which costs time only.
//
// Rejected: the digests of the files alone, as ccache's direct mode has them: every level has other macros,
// and hardly any source reads them. Comparing all macros that differ with the text of all files: the text
// names many of them in parts that are skipped, such as <immintrin.h> in a header that the source includes.
#include "inputs_recorder.h"
#include "options.h"

#include <xaas/known/known.h>
#include <xaas/known/places.h>

#include <xaas/base/build_id.h>

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/Utils.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/raw_ostream.h>

#include <charconv>

namespace xaas::known {

namespace {

constexpr size_t max_records = 16;
constexpr std::string_view version = "inputs 1"; // the first line of a record
constexpr std::string_view end_of_record = "\nend\n";

bool may_record(const clang::CompilerInvocation& invocation) {
  return invocation.getHeaderSearchOpts().VFSOverlayFiles.empty() && !invocation.getLangOpts().MicrosoftExt &&
         !invocation.getDependencyOutputOpts().AddMissingHeaderDeps;
}

Digest key_of(const session::Session& session, const clang::CompilerInvocation& invocation,
              const ir::Unit& unit, const std::vector<std::string>& features) {
  Hasher key;
  key.update_part(version);
  key.update_part(build_id());
  key.update_part(unit.source);
  const auto add_path = [&](const std::string& path) { key.update_part(path_without_place(session, path)); };
  add_path(invocation.getFrontendOpts().Inputs.front().getFile().str());
  std::error_code code;
  add_path(fs::current_path(code).string());
  // The options below have these, too, but with directories replaced wherever their texts occur.
  for (const clang::HeaderSearchOptions::Entry& entry : invocation.getHeaderSearchOpts().UserEntries)
    add_path(entry.Path);
  for (const auto* names :
       {&invocation.getPreprocessorOpts().Includes, &invocation.getPreprocessorOpts().MacroIncludes})
    for (const std::string& name : *names)
      add_path(name);
  key.update_number(has_debug_information(session, invocation));
  for (const std::string& option : options_of_preprocessor(session, invocation))
    key.update_part(option);
  add_target(key, invocation, features);
  return key.finish();
}

// Takes the text up to `end`, which must be there.
std::optional<std::string_view> take_until(std::string_view& text, char end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos)
    return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

std::optional<Digest> digest_in(std::string_view text) {
  const Result<Digest> digest = Digest::parse("sha256:" + std::string(text));
  return digest ? std::optional(*digest) : std::nullopt;
}

template <class Number> bool read_number(std::string_view text, Number& number, int base = 10) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return code == std::errc() && end == text.data() + text.size();
}

// A record whose lines for paths have not been read.
struct Record {
  Preprocessed result; // without the target
  Digest other_macros;
  MacrosRead macros;
  std::string_view paths;
};

constexpr size_t digits_of_word = 8;

bool read_words(std::string_view text, std::vector<uint32_t>& words) {
  for (; text.size() >= digits_of_word; text.remove_prefix(digits_of_word))
    if (!read_number(text.substr(0, digits_of_word), words.emplace_back(), 16))
      return false;
  return text.empty();
}

bool read_result(std::string_view line, Preprocessed& result) {
  const std::optional<std::string_view> digest = take_until(line, ' '), queries = take_until(line, ' ');
  if (!digest || !queries || !read_number(*queries, result.lock_free_queries) || line.size() != 2)
    return false;
  const std::optional<Digest> text = digest_in(*digest);
  result.text = text.value_or(Digest());
  result.reads_instruction_set = line[0] == '1';
  result.needs_features = line[1] == '1';
  return text.has_value();
}

// Nothing if the text is damaged.
std::optional<Record> read_record(std::string_view text) {
  const std::optional<std::string_view> first = take_until(text, '\n'), result = take_until(text, '\n'),
                                        others = take_until(text, '\n'), words = take_until(text, '\n');
  Record record;
  if (first != version || !result || !others || !words || !read_result(*result, record.result) ||
      !read_words(*words, record.macros.words))
    return std::nullopt;
  const std::optional<Digest> digest = digest_in(*others);
  if (!digest)
    return std::nullopt;
  record.other_macros = *digest;
  while (text.starts_with("macro ")) {
    take_until(text, ' ');
    const std::optional<std::string_view> name = take_until(text, ' '), value = take_until(text, '\n');
    if (!name || !value)
      return std::nullopt;
    record.macros.defined.emplace(*name, *value);
  }
  record.paths = text;
  return record;
}

// The record's dependencies in this build, if its files are the same. Each line is one of
//
//     file STATUS CONTENT PATH
//     system PATH
//     user PATH
std::optional<std::vector<Dependency>> read_paths(const session::Session& session, std::string_view text,
                                                  FileCheck* check) {
  std::vector<Dependency> dependencies;
  while (!text.empty()) {
    std::optional<std::string_view> line = take_until(text, '\n');
    const std::optional<std::string_view> kind = line ? take_until(*line, ' ') : std::nullopt;
    if (kind == "system" || kind == "user") {
      dependencies.push_back({path_with_place(session, *line), kind == "system"});
      continue;
    }
    const std::optional<std::string_view> status = kind == "file" ? take_until(*line, ' ') : std::nullopt;
    const std::optional<std::string_view> content = status ? take_until(*line, ' ') : std::nullopt;
    if (!content)
      return std::nullopt;
    if (!check)
      continue;
    const std::string path = path_with_place(session, *line);
    // A path that is in no directory of that build, but in one of this, has another name here.
    if (path_without_place(session, path) != *line)
      return std::nullopt;
    const std::optional<Digest> digest = *content == "-" ? std::nullopt : digest_in(*content);
    if ((*content != "-" && !digest) || !check->is_same({path, std::string(*status), digest}))
      return std::nullopt;
  }
  return dependencies;
}

std::string words_in_hex(const std::vector<uint32_t>& words) {
  std::string text;
  for (const uint32_t word : words)
    text += llvm::utohexstr(word, true, digits_of_word);
  return text;
}

// Takes the first record from a value, with its end. Empty at the end, or if the rest is no record.
std::string_view take_record(std::string_view& value) {
  const size_t end = value.find(end_of_record);
  const std::string_view record =
      end == std::string_view::npos ? std::string_view() : value.substr(0, end + end_of_record.size());
  value.remove_prefix(record.size());
  return record;
}

// The first records of a value, but for one with this text.
std::string without_record(std::string_view value, std::string_view record) {
  std::string kept;
  size_t count = 1;
  for (std::string_view each = take_record(value); !each.empty() && count < max_records;
       each = take_record(value)) {
    if (each == record)
      continue;
    kept += each;
    ++count;
  }
  return kept;
}

// A compiler with the target and macros of an invocation that has read nothing yet.
class IdleCompiler {
public:
  IdleCompiler(const clang::CompilerInvocation& invocation,
               llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
      : compiler_(std::make_shared<clang::CompilerInvocation>(invocation)) {
    compiler_.getDependencyOutputOpts() = clang::DependencyOutputOptions();
    compiler_.createVirtualFileSystem(std::move(files));
    compiler_.createDiagnostics(&messages_, false);
    compiler_.setVerboseOutputStream(llvm::nulls());
    if (!compiler_.hasDiagnostics() || !compiler_.createTarget())
      return;
    compiler_.createFileManager();
    compiler_.createSourceManager();
    compiler_.createPreprocessor(clang::TU_Complete);
  }
  // Null if Clang has errors.
  clang::CompilerInstance* get() {
    return compiler_.hasPreprocessor() && messages_.getNumErrors() == 0 ? &compiler_ : nullptr;
  }

private:
  clang::DiagnosticConsumer messages_;
  clang::CompilerInstance compiler_;
};

} // namespace

// Files of a run as the source names them, and as dependency files do.
class InputsRecorder::Names : public clang::DependencyCollector {
public:
  bool sawDependency(llvm::StringRef path, bool from_module, bool of_system, bool is_module,
                     bool is_missing) override {
    complete &=
        !from_module && !is_module && !is_missing && path.find_first_of("\n\x01") == llvm::StringRef::npos;
    dependencies.push_back({path.str(), of_system});
    return false;
  }
  bool needSystemDependencies() override { return true; }

  // True if a path enters a directory of the build within the part that the source names. It would be outside
  // of the directories of another build.
  bool enters_place(const session::Session& session, llvm::StringRef path) const {
    for (const auto& [place, name] : session.prefixes) {
      const std::string directory = place.string() + "/";
      if (!path.starts_with(directory))
        continue;
      for (size_t slash = path.find('/'); slash + 1 < directory.size(); slash = path.find('/', slash + 1))
        if (written.contains(path.drop_front(slash + 1)))
          return true;
    }
    return false;
  }

  llvm::StringSet<> written; // with their directories
  std::vector<Dependency> dependencies;
  bool complete = true;
};

namespace {

class NameCallbacks : public clang::PPCallbacks {
public:
  explicit NameCallbacks(llvm::StringSet<>& names) : names_(names) {}
  void InclusionDirective(clang::SourceLocation, const clang::Token&, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    add(name);
  }
  void HasInclude(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef,
                  clang::SrcMgr::CharacteristicKind) override {
    add(name);
  }
  void EmbedDirective(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef,
                      const clang::LexEmbedParametersResult&) override {
    add(name);
  }
  void HasEmbed(clang::SourceLocation, llvm::StringRef name, bool, clang::OptionalFileEntryRef) override {
    add(name);
  }

private:
  void add(llvm::StringRef name) {
    for (; !name.empty(); name = name.rsplit('/').first) {
      names_.insert(name);
      if (!name.contains('/'))
        return;
    }
  }
  llvm::StringSet<>& names_;
};

} // namespace

InputsRecorder::InputsRecorder(const session::Session& session, const clang::CompilerInvocation& invocation,
                               llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
    : session_(session), files_(std::move(files)), names_(std::make_shared<Names>()) {
  if (may_record(invocation))
    files_ = recorded_ = llvm::makeIntrusiveRefCnt<RecordedFiles>(session, files_);
}

InputsRecorder::~InputsRecorder() = default;

void InputsRecorder::attach(clang::CompilerInstance& compiler) {
  if (!recorded_)
    return;
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  macros_.attach(preprocessor);
  names_->attachToPreprocessor(preprocessor);
  preprocessor.addPPCallbacks(std::make_unique<NameCallbacks>(names_->written));
}

std::string InputsRecorder::finish(clang::CompilerInstance& compiler, const Preprocessed& result) {
  if (!recorded_)
    return {};
  recorded_->stop();
  const auto enters_place = [&](const FileAnswer& file) { return names_->enters_place(session_, file.path); };
  if (!recorded_->complete() || !names_->complete || llvm::any_of(recorded_->answers(), enters_place))
    return {};
  const PredefinedMacros macros = PredefinedMacros::of(compiler);
  const std::optional<MacrosRead> read = macros_.finish(compiler, macros);
  if (!read)
    return {};
  std::string text(version);
  text += '\n' + result.text.hex() + ' ' + std::to_string(result.lock_free_queries) + ' ' +
          (result.reads_instruction_set ? '1' : '0') + (result.needs_features ? '1' : '0') + '\n';
  text += macros.others.hex() + '\n' + words_in_hex(read->words) + '\n';
  for (const auto& [name, value] : read->defined)
    text += "macro " + name + ' ' + value + '\n';
  for (const FileAnswer& file : recorded_->answers())
    text += "file " + file.status + ' ' + (file.content ? file.content->hex() : "-") + ' ' +
            path_without_place(session_, file.path) + '\n';
  for (const Dependency& dependency : names_->dependencies)
    text += std::string(dependency.of_system ? "system " : "user ") +
            path_without_place(session_, dependency.path) + '\n';
  text.pop_back(); // the end of a record has it
  return text.append(end_of_record);
}

std::optional<FoundInputs> find_inputs(const session::Session& session,
                                       const clang::CompilerInvocation& invocation, const ir::Unit& unit,
                                       const llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files) {
  if (!may_record(invocation))
    return std::nullopt;
  IdleCompiler idle(invocation, files);
  clang::CompilerInstance* compiler = idle.get();
  if (!compiler)
    return std::nullopt;
  Preprocessed target;
  describe_target(*compiler, target);
  const std::optional<std::string> value =
      cache_of(session).get(key_of(session, invocation, unit, target.features));
  if (!value)
    return std::nullopt;
  const PredefinedMacros macros = PredefinedMacros::of(*compiler);
  FileCheck check(*files);
  std::string_view rest = *value;
  for (std::string_view text = take_record(rest); !text.empty(); text = take_record(rest)) {
    text.remove_suffix(end_of_record.size() - 1); // but for the end of its last line
    std::optional<Record> record = read_record(text);
    if (!record || record->other_macros != macros.others || !record->macros.are_same_in(macros))
      continue;
    check.start();
    if (auto dependencies = read_paths(session, record->paths, &check)) {
      describe_target(*compiler, record->result);
      return FoundInputs{std::move(record->result), *std::move(dependencies)};
    }
  }
  return std::nullopt;
}

bool is_result_of_run(const session::Session& session, const FoundInputs& found, const Preprocessed& run) {
  const Preprocessed& claimed = found.preprocessed;
  if (claimed.text != run.text || claimed.lock_free_queries != run.lock_free_queries ||
      claimed.reads_instruction_set != run.reads_instruction_set ||
      claimed.needs_features != run.needs_features)
    return false;
  std::string_view text = run.inputs;
  if (text.empty())
    return true;
  text.remove_suffix(end_of_record.size() - 1);
  const std::optional<Record> record = read_record(text);
  return record && read_paths(session, record->paths, nullptr) == found.dependencies;
}

void remember_inputs(const session::Session& session, const clang::CompilerInvocation& invocation,
                     const ir::Unit& unit, const Preprocessed& preprocessed) {
  if (preprocessed.inputs.empty())
    return;
  const Digest key = key_of(session, invocation, unit, preprocessed.features);
  const store::Cache cache = cache_of(session);
  const std::string others = without_record(cache.get(key).value_or(""), preprocessed.inputs);
  static_cast<void>(cache.put(key, preprocessed.inputs + others));
}

void forget_inputs(const session::Session& session, const clang::CompilerInvocation& invocation,
                   const ir::Unit& unit, const FoundInputs& found) {
  cache_of(session).remove(key_of(session, invocation, unit, found.preprocessed.features));
}

bool write_dependencies(const clang::CompilerInvocation& invocation,
                        const std::vector<Dependency>& dependencies) {
  const clang::DependencyOutputOptions& options = invocation.getDependencyOutputOpts();
  if (options.OutputFile.empty())
    return true;
  clang::DiagnosticOptions of_messages;
  clang::DiagnosticConsumer messages;
  clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), of_messages, &messages, false);
  clang::DependencyFileGenerator generator(options);
  for (const Dependency& dependency : dependencies)
    generator.maybeAddDependency(dependency.path, false, dependency.of_system, false, false);
  generator.finishedMainFile(diagnostics);
  return messages.getNumErrors() == 0;
}

} // namespace xaas::known
