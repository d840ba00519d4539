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
// messages are not recorded, nor are those that read the time. A file that contains the path of a directory
// of the build may include a file there, whose path in another build is another one, so such a run is not
// recorded either
// (`config.h` with an installation directory of the build).
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
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>

#include <charconv>

namespace xaas::known {

namespace {

constexpr size_t max_records = 16;
constexpr std::string_view start_of_record = "inputs 1\n", end_of_record = "end\n";

bool may_record(const clang::CompilerInvocation& invocation) {
  return invocation.getHeaderSearchOpts().VFSOverlayFiles.empty() && !invocation.getLangOpts().MicrosoftExt &&
         !invocation.getDependencyOutputOpts().AddMissingHeaderDeps;
}

Digest key_of(const session::Session& session, const clang::CompilerInvocation& invocation,
              const ir::Unit& unit, const std::vector<std::string>& features) {
  Hasher key;
  key.update_part("inputs 1");
  key.update_part(build_id());
  key.update_part(unit.source);
  key.update_part(without_places(session, invocation.getFrontendOpts().Inputs.front().getFile().str()));
  std::error_code code;
  key.update_part(without_places(session, fs::current_path(code).string()));
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

// A record as it was written.
struct Record {
  Preprocessed result; // without the target
  Digest other_macros;
  MacrosRead macros;
  std::vector<FileAnswer> files;
  std::vector<Dependency> dependencies;
};

constexpr size_t digits_of_word = 8;

std::string words_in_hex(const std::vector<uint32_t>& words) {
  std::string text;
  for (const uint32_t word : words)
    text += llvm::utohexstr(word, true, digits_of_word);
  return text;
}

std::string text_of(const session::Session& session, const Record& record) {
  std::string text(start_of_record);
  text += record.result.text.hex() + ' ' + std::to_string(record.result.lock_free_queries) + ' ' +
          (record.result.reads_instruction_set ? '1' : '0') + (record.result.needs_features ? '1' : '0') +
          '\n';
  text += record.other_macros.hex() + '\n';
  text += words_in_hex(record.macros.words) + '\n';
  for (const auto& [name, value] : record.macros.defined)
    text += "macro " + name + ' ' + value + '\n';
  std::string paths;
  for (const FileAnswer& file : record.files)
    paths +=
        "file " + file.status + ' ' + (file.content ? file.content->hex() : "-") + ' ' + file.path + '\n';
  for (const Dependency& dependency : record.dependencies)
    paths += std::string(dependency.of_system ? "system " : "user ") + dependency.path + '\n';
  return text + without_places(session, paths).append(end_of_record);
}

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

bool read_file_line(std::string_view line, std::vector<FileAnswer>& files) {
  const std::optional<std::string_view> status = take_until(line, ' '), content = take_until(line, ' ');
  if (!status || !content)
    return false;
  FileAnswer& file = files.emplace_back();
  file.status = *status;
  file.path = line;
  if (*content == "-")
    return true;
  file.content = digest_in(*content);
  return file.content.has_value();
}

bool read_line(std::string_view line, Record& record) {
  const std::optional<std::string_view> kind = take_until(line, ' ');
  if (kind == "file")
    return read_file_line(line, record.files);
  if (kind == "system" || kind == "user") {
    record.dependencies.push_back({std::string(line), kind == "system"});
    return true;
  }
  const std::optional<std::string_view> name = take_until(line, ' ');
  return kind == "macro" && name && record.macros.defined.emplace(*name, line).second;
}

// Takes a record from the text, whose paths are those of this build. Nothing if it is damaged.
std::optional<Record> take_record(std::string_view& text) {
  if (!text.starts_with(start_of_record))
    return std::nullopt;
  text.remove_prefix(start_of_record.size());
  Record record;
  const std::optional<std::string_view> result = take_until(text, '\n'), others = take_until(text, '\n'),
                                        words = take_until(text, '\n');
  if (!result || !others || !words || !read_result(*result, record.result) ||
      !read_words(*words, record.macros.words))
    return std::nullopt;
  const std::optional<Digest> digest = digest_in(*others);
  if (!digest)
    return std::nullopt;
  record.other_macros = *digest;
  while (!text.starts_with(end_of_record)) {
    const std::optional<std::string_view> line = take_until(text, '\n');
    if (!line || !read_line(*line, record))
      return std::nullopt;
  }
  text.remove_prefix(end_of_record.size());
  return record;
}

// The first records of a value, but for one with this text.
std::string without_record(std::string_view value, std::string_view record) {
  std::string kept;
  for (size_t count = 1; count < max_records && !value.empty();) {
    const size_t end = value.find("\n" + std::string(end_of_record));
    if (end == std::string_view::npos)
      break;
    const std::string_view each = value.substr(0, end + 1 + end_of_record.size());
    if (each != record) {
      kept += each;
      ++count;
    }
    value.remove_prefix(each.size());
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

class InputsRecorder::Dependencies : public clang::DependencyCollector {
public:
  bool sawDependency(llvm::StringRef path, bool from_module, bool of_system, bool is_module,
                     bool is_missing) override {
    complete &= !from_module && !is_module && !is_missing && !path.contains('\n');
    seen.push_back({path.str(), of_system});
    return false;
  }
  bool needSystemDependencies() override { return true; }

  std::vector<Dependency> seen;
  bool complete = true;
};

InputsRecorder::InputsRecorder(const session::Session& session, const clang::CompilerInvocation& invocation,
                               llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files)
    : session_(session), files_(llvm::makeIntrusiveRefCnt<RecordedFiles>(
                             session, headers_of_clang(invocation.getHeaderSearchOpts()), std::move(files))),
      dependencies_(std::make_shared<Dependencies>()) {}

InputsRecorder::~InputsRecorder() = default;

void InputsRecorder::attach(clang::CompilerInstance& compiler) {
  macros_.attach(compiler.getPreprocessor());
  dependencies_->attachToPreprocessor(compiler.getPreprocessor());
}

std::string InputsRecorder::finish(clang::CompilerInstance& compiler, const Preprocessed& result) {
  files_->stop();
  if (!may_record(compiler.getInvocation()) || !files_->complete() || !dependencies_->complete)
    return {};
  const PredefinedMacros macros = PredefinedMacros::of(compiler);
  std::optional<MacrosRead> read = macros_.finish(compiler, macros, files_->builtins_of_x86());
  if (!read)
    return {};
  return text_of(session_, {result, macros.others, *std::move(read), files_->answers(), dependencies_->seen});
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
  const std::string here = with_places(session, *value);
  std::string_view text = here;
  while (std::optional<Record> record = take_record(text)) {
    check.start();
    if (record->other_macros != macros.others || !record->macros.are_same_in(macros) ||
        !llvm::all_of(record->files, [&](const FileAnswer& file) { return check.is_same(file); }))
      continue;
    describe_target(*compiler, record->result);
    return FoundInputs{std::move(record->result), std::move(record->dependencies)};
  }
  return std::nullopt;
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
