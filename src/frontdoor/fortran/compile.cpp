// Fortran: from a job of flang's driver to a unit.
//
// Problem: Clang's front end is a library that gives IR before any LLVM pass. flang's needs the shared LLVM,
// which cannot be in one process with the static one, and its driver refuses -disable-llvm-passes. Approach:
// run `flang -fc1` as the build would, but to bitcode, with LLVM's pass bisection at zero, which skips every
// optional pass (mandatory passes, such as inlining of always_inline functions, are part of any compile).
// flang's passes over MLIR run before that and depend on -O and the instruction set. Their result is part of
// the IR, and canonical form keeps different results apart. Rejected: -O0, whose IR differs because flang's
// own passes read the level; --emit-fir and our own translation, which would be a second flang.
//
// This run also writes the module files of the compile. If it fails for any reason, flang runs again with the
// original job, which makes a native object or reports the error in flang's own words.
#include "fortran/compile.h"
#include "c/frontend.h"
#include "foreign_modules.h"
#include "fortran/module.h"
#include "fortran/options.h"
#include "other_levels.h"
#include "working_object.h"

#include <xaas/base/process.h>

#include <clang/Basic/TargetOptions.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <iostream>

namespace xaas::frontdoor {

namespace {

using Arguments = std::vector<std::string>;

struct FrontEndRun {
  bool succeeded = false;
  std::string bitcode;
  std::string messages;
};

// Runs flang's front end with these arguments, up to bitcode before LLVM's passes.
Result<FrontEndRun> run_front_end(const fs::path& flang, const Arguments& arguments) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  const std::string bitcode = directory.path() / "module.bc";
  Command command;
  command.arguments = {flang.string(), "-fc1"};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.arguments.insert(
      command.arguments.end(),
      {"-mllvm", "-opt-bisect-limit=0", "-mllvm", "-opt-bisect-verbose=0", "-emit-llvm-bc", "-o", bitcode});
  command.inherit_input = true;
  XAAS_TRY(const ProcessResult result, run_process(command));
  constexpr int first_signal = 128;
  if (result.exit_code >= first_signal) // killed, which does not depend on the source
    return make_error(ErrorKind::failed, "running " + flang.string() + ": it was ended by signal " +
                                             std::to_string(result.exit_code - first_signal));
  FrontEndRun done;
  done.messages = result.output;
  if (result.exit_code != 0)
    return done;
  XAAS_TRY(done.bitcode, read_file(bitcode));
  done.succeeded = true;
  return done;
}

Result<ir::CanonicalModule> canonicalize(llvm::Module& module, const clang::TargetOptions& options) {
  // The attributes that flang gives functions, from its arguments.
  const ir::TargetAttributes emitted = {options.CPU, options.TuneCPU,
                                        llvm::join(options.FeaturesAsWritten, ",")};
  XAAS_TRY(const ir::FeatureResolver resolver, ir::FeatureResolver::create({options.Triple,
                                                                            options.ABI,
                                                                            options.FPMath,
                                                                            options.CPU,
                                                                            options.TuneCPU,
                                                                            options.FeaturesAsWritten,
                                                                            {}}));
  return ir::canonicalize(module, emitted, resolver);
}

FrontendResult finish(const session::Session& session, const FortranCommand& command,
                      const std::string& bitcode) {
  FrontendResult result;
  result.compiled = true;
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, command.source), context);
  if (!module) {
    result.refusal = "flang's bitcode cannot be read: " + llvm::toString(module.takeError());
    return result;
  }
  make_reproducible(**module, [&](const std::string& path) { return mapped_path(session, path); });
  const clang::TargetOptions& options = command.back_end->getTargetOpts();
  result.needs_optimization = ir::needs_optimization(**module, [](const llvm::Function&) { return false; });
  finish_module(session, **module, [&](llvm::Module& each) { return canonicalize(each, options); }, result);
  return result;
}

// A second run for the build machine's own level, if the configuration's is above it. Its module files go to
// a directory of their own, and it reads the build's module files where they are.
std::string lesser_bitcode(const session::Session& session, const FortranCommand& command,
                           const fs::path& flang, const std::string& level) {
  FortranCommand lesser = command;
  const Result<TemporaryDirectory> directory = TemporaryDirectory::create();
  if (!directory)
    return {};
  std::string modules = ".";
  Arguments& arguments = lesser.front_end;
  arguments = at_level(session, arguments, level);
  for (size_t i = 0; i + 1 < arguments.size(); ++i)
    if (arguments[i] == "-module-dir")
      modules = std::exchange(arguments[i + 1], directory->path().string());
  if (modules == ".")
    arguments.insert(arguments.end(), {"-module-dir", directory->path().string()});
  arguments.insert(arguments.end(), {"-I", modules});
  lesser.back_end->getTargetOpts().CPU = level;
  const Result<FrontEndRun> done = run_front_end(flang, arguments);
  if (!done || !done->succeeded)
    return {};
  FrontendResult result = finish(session, lesser, done->bitcode);
  return result.refusal.empty() ? std::move(result.module.bitcode) : std::string();
}

std::string first_error(const std::string& messages) {
  const size_t at = messages.find("error: ");
  const std::string line = messages.substr(at == std::string::npos ? 0 : at + 7);
  return line.substr(0, std::min(line.find('\n'), size_t{200}));
}

Result<CompileResult> capture_command(const session::Session& session, const fs::path& flang,
                                      const FortranCommand& command, UnitWriter writer) {
  XAAS_TRY(const FrontEndRun done, run_front_end(flang, command.front_end));
  if (!done.succeeded) {
    if (const std::optional<std::string> explained = explain_foreign_modules(done.messages)) {
      std::cerr << *explained;
      return CompileResult{CompileOutcome::failed, {}, {}};
    }
    return CompileResult{CompileOutcome::carried, command.output,
                         "flang makes no IR of it before LLVM's passes: " + first_error(done.messages)};
  }
  FrontendResult made = finish(session, command, done.bitcode);
  if (!made.refusal.empty())
    return CompileResult{CompileOutcome::carried, command.output, made.refusal};
  known::KnownUnit unit;
  unit.needs_optimization = made.needs_optimization;
  unit.names_places = made.names_places;
  unit.bitcode = std::move(made.module.bitcode);
  const auto lesser = [&](const std::string& level) {
    return lesser_bitcode(session, command, flang, level);
  };
  XAAS_TRY(const std::optional<std::string> refusal, writer.make_object(unit, lesser));
  if (refusal)
    return CompileResult{CompileOutcome::carried, command.output, *refusal};
  std::cerr << done.messages; // printed only now, because flang prints them again for a carried source
  return writer.write(unit, false, std::nullopt);
}

} // namespace

CompileResult capture_fortran(const session::Session& session, const WrittenMachine& written,
                              const fs::path& flang, const std::vector<std::string>& command) {
  const std::optional<FortranCommand> parsed = parse_fortran_command({command.begin() + 1, command.end()});
  if (!parsed)
    return {CompileOutcome::not_ours, {}, {}};
  std::string refusal = parsed->refusal;
  if (refusal.empty() && written.other_triple)
    refusal = "another target than the image's (--target)";
  Result<ir::UnitOptions> options = make_error(ErrorKind::failed, refusal);
  if (refusal.empty())
    options = ir::options_of(*parsed->back_end);
  if (!options)
    return {CompileOutcome::carried, parsed->output, options.error().message};

  ir::Unit unit;
  unit.source = portable_name(session, parsed->source);
  unit.machine = machine_flags(parsed->back_end->getTargetOpts(), written);
  unit.unoptimized = is_unoptimized(*options, written);
  UnitWriter writer(session, *std::move(options), unit, parsed->output);
  writer.set_lto(written.lto);
  const Result<CompileResult> result = capture_command(session, flang, *parsed, std::move(writer));
  if (result)
    return *result;
  std::cerr << "xaas: error: compiling " << parsed->source << ": " << result.error().message << "\n";
  return {CompileOutcome::failed, {}, {}};
}

} // namespace xaas::frontdoor
