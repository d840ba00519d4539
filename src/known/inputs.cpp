// Problem: a compile that is known from another configuration costs little but its preprocessor, which then
// is most of the time of all builds but the first. In LAMMPS, such a compile took 0.09 s, and one that is not
// known takes 0.65 s.
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
// Messages of the preprocessor may show the number of a line among the predefined macros; runs with such
// messages are not recorded, nor are those that read the time. Paths must mean the same in another build: a
// run is not recorded either if a file contains the path of a directory of the build, or if the name in an
// #include enters such a directory from above (`#include "build/config.h"` with the directory above as -I) or
// is such a path that macros put together, or if the name of a file that is read starts like such a directory
// (`/x/build_info.h`), because names in tokens lose the directory there, too.
//
// Several runs of one source differ in their macros, or in the files of a configuration. The newest
// max_records are kept under one key, which covers the options. Two writers of this key may lose one of their
// records, which costs time only.
//
// Rejected: the digests of the files alone, as ccache's direct mode has them: every level has other macros,
// and hardly any source reads them. Comparing all macros that differ with the text of all files: the text
// names many of them in parts that are skipped, such as <immintrin.h> in a header that the source includes.
#include "inputs_record.h"
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
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Support/raw_ostream.h>

namespace xaas::known {

namespace {

constexpr size_t max_records = 16;

Digest key_of(const session::Session& session, const clang::CompilerInvocation& invocation,
              const ir::Unit& unit, const std::vector<std::string>& features) {
  Hasher key;
  key.update_part(record_version);
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
  // Texts of macros are in the tokens.
  for (const auto& [macro, is_undefined] : invocation.getPreprocessorOpts().Macros) {
    key.update_part(macro);
    key.update_number(is_undefined);
  }
  key.update_number(has_debug_information(session, invocation));
  for (const std::string& option : options_of_preprocessor(session, invocation)) {
    key.update_part(option);
    if (names_beside_places(option))
      key.update_part(with_places(session, option));
  }
  add_target(key, invocation, features);
  return key.finish();
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

std::optional<FoundInputs> find_inputs(const session::Session& session,
                                       const clang::CompilerInvocation& invocation, const ir::Unit& unit,
                                       const llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files) {
  if (!may_record_inputs(invocation))
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
    std::optional<InputsRecord> record = read_record(text);
    if (!record || record->other_macros != macros.others || !record->macros.are_same_in(macros))
      continue;
    check.start();
    if (auto dependencies = read_paths(session, record->paths, &check)) {
      describe_target(*compiler, record->result);
      record->result.inputs = text;
      return FoundInputs{std::move(record->result), *std::move(dependencies)};
    }
  }
  return std::nullopt;
}

std::optional<Preprocessed> result_for(const session::Session& session,
                                       const clang::CompilerInvocation& other,
                                       const clang::CompilerInvocation& invocation, const ir::Unit& unit,
                                       const Preprocessed& run) {
  std::optional<InputsRecord> record = read_record(run.inputs);
  IdleCompiler idle(other, llvm::vfs::getRealFileSystem());
  clang::CompilerInstance* const compiler = idle.get();
  if (!record || !compiler)
    return std::nullopt;
  describe_target(*compiler, record->result);
  if (key_of(session, other, unit, record->result.features) !=
      key_of(session, invocation, unit, run.features))
    return std::nullopt;
  const PredefinedMacros macros = PredefinedMacros::of(*compiler);
  if (record->other_macros != macros.others || !record->macros.are_same_in(macros))
    return std::nullopt;
  record->result.inputs = run.inputs;
  return std::move(record->result);
}

bool have_same_dependencies(const session::Session& session, const Preprocessed& one,
                            const Preprocessed& other) {
  const auto dependencies = [&](const Preprocessed& run) -> std::optional<std::vector<Dependency>> {
    const std::optional<InputsRecord> record = read_record(run.inputs);
    return record ? read_paths(session, record->paths, nullptr) : std::nullopt;
  };
  const auto of_one = dependencies(one);
  return of_one && of_one == dependencies(other);
}

bool is_result_of_run(const session::Session& session, const FoundInputs& found, const Preprocessed& run) {
  const Preprocessed& claimed = found.preprocessed;
  if (claimed.text != run.text || claimed.macros != run.macros ||
      claimed.lock_free_queries != run.lock_free_queries ||
      claimed.reads_instruction_set != run.reads_instruction_set ||
      claimed.needs_features != run.needs_features)
    return false;
  if (run.inputs.empty())
    return true;
  const std::optional<InputsRecord> record = read_record(run.inputs);
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
  // An empty value hides that of a shared cache.
  static_cast<void>(
      cache_of(session).put(key_of(session, invocation, unit, found.preprocessed.features), {}));
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
