#include "c/compile.h"
#include "c/frontend.h"
#include "device/units.h"
#include "working_object.h"

#include <xaas/ir/options.h>
#include <xaas/known/invocation.h>
#include <xaas/known/known.h>
#include <xaas/known/places.h>
#include <xaas/known/read_once.h>
#include <xaas/known/stable_files.h>
#include <xaas/session/log.h>

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <algorithm>
#include <iostream>

namespace xaas::frontdoor {

namespace {

bool makes_object_from_source(const clang::CompilerInvocation& invocation) {
  const clang::FrontendOptions& options = invocation.getFrontendOpts();
  if (options.ProgramAction != clang::frontend::EmitObj || options.Inputs.size() != 1 ||
      options.OutputFile.empty() || options.OutputFile == "-")
    return false;
  const clang::Language language = options.Inputs[0].getKind().getLanguage();
  return language == clang::Language::C || language == clang::Language::CXX ||
         language == clang::Language::CUDA || language == clang::Language::HIP;
}

std::string refusal_of(const clang::CompilerInvocation& invocation, const WrittenMachine& written) {
  if (written.other_triple)
    return "another target than the image's (-m32, --target)";
  const std::vector<std::string>& llvm = invocation.getFrontendOpts().LLVMArgs;
  if (!std::all_of(llvm.begin(), llvm.end(), ir::is_amdgpu_option))
    return "-mllvm options";
  if (!invocation.getFrontendOpts().Plugins.empty())
    return "a Clang plugin";
  if (!invocation.getFrontendOpts().ModuleOutputPath.empty())
    return "the interface of a C++ module";
  return {};
}

} // namespace

bool is_unoptimized(const ir::UnitOptions& options, const WrittenMachine& written) {
  const auto level = options.codegen.find("OptimizationLevel");
  return !written.optimization && (level == options.codegen.end() || level->second == 0);
}

ir::MachineFlags machine_flags(const clang::TargetOptions& options, const WrittenMachine& written) {
  ir::MachineFlags flags;
  const bool open = written.march.empty() || written.march == "native";
  flags.cpu = open ? written.march : options.CPU;
  if (written.mtune == "native")
    flags.tune = "native";
  else if (!written.mtune.empty() || !open)
    flags.tune = options.TuneCPU;
  flags.features = options.FeaturesAsWritten;
  return flags;
}

namespace {

// A second pass of the front end for the build machine's own level, if the configuration's is above it. It
// prints and writes nothing, because the first pass did. Empty if the source compiles only for the
// configuration's level.
std::string lesser_bitcode(std::vector<std::string> command, const session::Session& session,
                           llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, const std::string& level) {
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "-target-cpu" && command[i + 1] == session.level)
      command[i + 1] = level;
  clang::TextDiagnosticBuffer messages;
  std::shared_ptr<clang::CompilerInvocation> invocation = known::parse_command(command, messages);
  if (!invocation)
    return {};
  invocation->getDependencyOutputOpts() = clang::DependencyOutputOptions();
  FrontendResult frontend = run_frontend(session, invocation, std::move(files), nullptr);
  const bool usable = frontend.compiled && frontend.refusal.empty();
  return usable ? std::move(frontend.module.bitcode) : std::string();
}

// One compile of C or C++, either known already or done by the front end.
class Capture {
public:
  Capture(const session::Session& session, const std::vector<std::string>& command,
          std::shared_ptr<clang::CompilerInvocation> invocation, ir::UnitOptions options, ir::Unit draft,
          const DeviceCode& device)
      : session_(session), command_(command), invocation_(std::move(invocation)), device_(device),
        writer_(session, std::move(options), std::move(draft), invocation_->getFrontendOpts().OutputFile) {
    if (!invocation_->getLangOpts().OMPTargetTriples.empty())
      files_ = known::with_stable_identities(session, files_);
  }

  Result<CompileResult> run(const clang::TextDiagnosticBuffer& messages) {
    look_up();
    if (known_ && !session_.check_sharing)
      return use_known();
    FrontendResult frontend =
        run_frontend(session_, invocation_, files_, &messages, listener_ ? &*listener_ : nullptr);
    if (listener_)
      make_keys(std::move(frontend.preprocessed));
    frontend.plain &= preprocessed_ && !preprocessed_->reads_instruction_set;
    bool differs = false;
    if (known_) {
      XAAS_TRY(differs, compare(frontend));
    }
    if (!frontend.compiled) {
      std::cerr << frontend.messages;
      return CompileResult{CompileOutcome::failed, {}, {}};
    }
    if (!frontend.refusal.empty())
      return CompileResult{CompileOutcome::carried, writer_.output(), frontend.refusal};
    DeviceUnits device = device_units(frontend);
    if (device.outcome == CompileOutcome::failed)
      return CompileResult{CompileOutcome::failed, {}, {}};
    if (device.outcome != CompileOutcome::captured)
      return CompileResult{CompileOutcome::carried, writer_.output(), device.reason};
    writer_.set_device_code(std::move(device.units), device_.offload);
    known::KnownUnit unit;
    unit.plain = frontend.plain;
    unit.needs_optimization = frontend.needs_optimization;
    unit.names_places = frontend.names_places;
    unit.vector_returns = frontend.vector_returns;
    unit.messages = known::without_places(session_, frontend.messages);
    unit.bitcode = std::move(frontend.module.bitcode);
    const auto lesser = [&](const std::string& level) {
      return lesser_bitcode(command_, session_, files_, level);
    };
    XAAS_TRY(const std::optional<std::string> refusal, writer_.make_object(unit, lesser));
    if (refusal)
      return CompileResult{CompileOutcome::carried, writer_.output(), *refusal};
    std::cerr << frontend.messages; // Clang compiles a carried source again, and prints its messages itself
    if (keys_ && (!known_ || differs))
      known::remember(session_, marks_, *keys_, unit);
    else if (listener_)
      known::look_next_time(session_, marks_);
    return writer_.write(unit, false, text_of_unit());
  }

private:
  DeviceUnits device_units(const FrontendResult& frontend) const {
    if (device_.capture)
      return device_.capture(frontend.module.bitcode);
    // A source without kernels and variables for the GPU has no place for device code.
    if (device_.offload.empty() && !frontend.wants_device_image)
      return {};
    return {CompileOutcome::captured, {}, device_.units};
  }

  void look_up() {
    if (session_.cache.empty() || !known::may_be_known(*invocation_))
      return;
    marks_ = known::marks_of(session_, *invocation_, writer_.draft());
    if (!session_.check_sharing && !known::may_be_found(session_, marks_)) {
      listener_.emplace(session_);
      return;
    }
    files_ = known::files_read_once();
    make_keys(known::preprocess(session_, *invocation_, files_));
    if (!keys_)
      return;
    // The preprocessor has written the dependency files.
    invocation_->getDependencyOutputOpts() = clang::DependencyOutputOptions();
    known_ = known::find_known(session_, *keys_);
  }

  void make_keys(std::optional<known::Preprocessed> preprocessed) {
    preprocessed_ = std::move(preprocessed);
    if (preprocessed_)
      keys_ =
          known::keys_of(session_, *invocation_, writer_.draft(), *preprocessed_, working_level(session_));
  }

  // True if compiling contradicts the known outcome, which is then forgotten.
  Result<bool> compare(const FrontendResult& frontend) {
    const Digest known = digest_of(known_->bitcode);
    if (frontend.compiled && frontend.refusal.empty() && frontend.module.digest == known &&
        frontend.needs_optimization == known_->needs_optimization && (frontend.plain || !known_->plain))
      return false;
    known::forget(session_, *keys_);
    const std::string compiled = !frontend.compiled         ? "an error"
                                 : frontend.refusal.empty() ? "module " + frontend.module.digest.to_string()
                                                            : frontend.refusal;
    XAAS_CHECK(log_difference(session_, writer_.draft().source + ": known as module " + known.to_string() +
                                            (known_->plain ? " for every instruction set" : "") +
                                            ", but compiling it gives " + compiled));
    return true;
  }

  Result<CompileResult> use_known() {
    XAAS_TRY(const CompileResult result, writer_.write(*known_, true, text_of_unit()));
    std::cerr << known::with_places(session_, known_->messages);
    return result;
  }

  std::optional<Digest> text_of_unit() const {
    return preprocessed_ ? std::optional(preprocessed_->text) : std::nullopt;
  }

  const session::Session& session_;
  const std::vector<std::string>& command_;
  std::shared_ptr<clang::CompilerInvocation> invocation_;
  const DeviceCode& device_;
  UnitWriter writer_;
  // If the preprocessor ran alone to make the key, the front end must read the same contents.
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_ = llvm::vfs::getRealFileSystem();
  known::Marks marks_;
  std::optional<known::TokenListener> listener_; // set if no outcome can be known
  std::optional<known::Preprocessed> preprocessed_;
  std::optional<known::Keys> keys_;
  std::optional<known::KnownUnit> known_;
};

} // namespace

CompileResult capture_compile(const session::Session& session, const WrittenMachine& written,
                              const std::vector<std::string>& command, const DeviceCode& device) {
  clang::TextDiagnosticBuffer messages;
  const std::shared_ptr<clang::CompilerInvocation> invocation = known::parse_command(command, messages);
  if (!invocation || !makes_object_from_source(*invocation))
    return {CompileOutcome::not_ours, {}, {}};
  const fs::path output = invocation->getFrontendOpts().OutputFile;
  const std::string source = invocation->getFrontendOpts().Inputs[0].getFile().str();

  Result<ir::UnitOptions> options = ir::options_of(*invocation);
  std::string refusal = refusal_of(*invocation, written);
  if (refusal.empty() && !options)
    refusal = options.error().message;
  if (!refusal.empty())
    return {CompileOutcome::carried, output, refusal};
  ir::Unit unit;
  unit.source = source == "-" ? "-" : portable_name(session, source);
  unit.machine = machine_flags(invocation->getTargetOpts(), written);
  unit.unoptimized = is_unoptimized(*options, written);
  // If the result is `carried`, Clang makes the object, or reports in its own words why it cannot.
  Result<CompileResult> result =
      Capture(session, command, invocation, *std::move(options), unit, device).run(messages);
  if (result)
    return *result;
  std::cerr << "xaas: error: compiling " << source << ": " << result.error().message << "\n";
  return {CompileOutcome::failed, {}, {}};
}

} // namespace xaas::frontdoor
