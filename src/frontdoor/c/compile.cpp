#include "c/compile.h"
#include "c/known_compile.h"
#include "device/units.h"
#include "llvm_ir/compile.h"
#include "other_levels.h"
#include "plugins.h"
#include "working_object.h"

#include <xaas/base/directory.h>
#include <xaas/base/file.h>
#include <xaas/ir/options.h>
#include <xaas/known/invocation.h>
#include <xaas/known/places.h>

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace xaas::frontdoor {

namespace {

bool makes_object_from(const clang::CompilerInvocation& invocation,
                       std::initializer_list<clang::Language> languages) {
  const clang::FrontendOptions& options = invocation.getFrontendOpts();
  if (options.ProgramAction != clang::frontend::EmitObj || options.Inputs.size() != 1 ||
      options.OutputFile.empty() || options.OutputFile == "-")
    return false;
  return llvm::is_contained(languages, options.Inputs[0].getKind().getLanguage());
}

// The file with the counts by which Clang's back end optimizes (-fprofile-use), which the options then do not
// name any more; empty: there is none. Clang's front end has written counts for itself (-fprofile-instr-use)
// into the IR.
std::string take_counts(clang::CodeGenOptions& codegen) {
  std::string file = std::exchange(codegen.ProfileInstrumentUsePath, {});
  if (codegen.hasProfileIRUse())
    return file;
  codegen.setProfileUse(llvm::driver::ProfileInstrKind::ProfileNone);
  return {};
}

Result<Digest> keep_counts(const session::Session& session, const std::string& file) {
  XAAS_TRY(const std::string counts, read_file(file));
  return session.content().put(counts);
}

} // namespace

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
std::string lesser_bitcode(const std::vector<std::string>& command, const session::Session& session,
                           llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files, const std::string& level) {
  clang::TextDiagnosticBuffer messages;
  std::shared_ptr<clang::CompilerInvocation> invocation =
      known::parse_command(at_level(session, command, level), messages);
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
          std::shared_ptr<clang::CompilerInvocation> invocation, UnitWriter writer, const DeviceCode& device)
      : session_(session), command_(command), device_(device), writer_(std::move(writer)),
        has_profile_(!invocation->getCodeGenOpts().ProfileInstrumentUsePath.empty()),
        compile_(session, std::move(invocation), writer_.draft()) {}

  Result<CompileResult> run(const clang::TextDiagnosticBuffer& messages) {
    // The keys of known outcomes have neither plugins nor profiles.
    const bool may_be_known = writer_.draft().plugins.empty() && !has_profile_;
    if (const known::KnownUnit* known = may_be_known ? compile_.find() : nullptr)
      return known->object.empty() ? complete(*known) : use(*known);
    XAAS_TRY(FrontendResult frontend, compile_.compile(&messages));
    if (!frontend.compiled) {
      std::cerr << frontend.messages;
      XAAS_CHECK(compare_levels(session_, writer_.draft().source, [&](const std::string& level) {
        return fails_at(level, frontend.messages) ? "" : "it may compile there, or say something else";
      }));
      return CompileResult{CompileOutcome::failed, {}, {}};
    }
    if (!frontend.refusal.empty())
      return CompileResult{CompileOutcome::carried, writer_.output(), frontend.refusal};
    known::KnownUnit unit = compile_.outcome_of(frontend);
    if (std::optional<CompileResult> unusable = add_device_code(unit))
      return *unusable;
    const auto lesser = [&](const std::string& level) {
      return lesser_bitcode(command_, session_, compile_.files(), level);
    };
    XAAS_TRY(const std::optional<std::string> refusal, writer_.make_object(unit, lesser));
    if (refusal)
      return CompileResult{CompileOutcome::carried, writer_.output(), *refusal};
    std::cerr << frontend.messages; // Clang compiles a carried source again, and prints its messages itself
    if (may_be_known)
      compile_.file(unit);
    return write(unit, false);
  }

private:
  // The result of the compile if its device code cannot be carried.
  std::optional<CompileResult> add_device_code(const known::KnownUnit& unit) {
    DeviceUnits device = device_units(unit);
    if (device.outcome == CompileOutcome::failed)
      return CompileResult{CompileOutcome::failed, {}, {}};
    if (device.outcome != CompileOutcome::captured)
      return CompileResult{CompileOutcome::carried, writer_.output(), device.reason};
    writer_.set_device_code(std::move(device.units), device_.offload);
    return std::nullopt;
  }

  DeviceUnits device_units(const known::KnownUnit& unit) const {
    if (device_.capture)
      return device_.capture(unit.bitcode);
    // A source without kernels and variables for the GPU has no place for device code.
    if (device_.offload.empty() && !unit.wants_device_image)
      return {};
    return {CompileOutcome::captured, {}, device_.units};
  }

  // Makes the working object that an outcome for fewer features does not have.
  Result<CompileResult> complete(known::KnownUnit unit) {
    const auto none = [](const std::string&) { return std::string(); };
    XAAS_TRY(const std::optional<std::string> refusal, writer_.make_object(unit, none));
    if (refusal)
      return CompileResult{CompileOutcome::carried, writer_.output(), *refusal};
    compile_.file(unit);
    return use(unit);
  }

  Result<CompileResult> use(const known::KnownUnit& known) {
    if (std::optional<CompileResult> unusable = add_device_code(known))
      return *unusable;
    XAAS_TRY(const CompileResult result, write(known, true));
    std::cerr << known::with_places(session_, known.messages);
    return result;
  }

  Result<CompileResult> write(const known::KnownUnit& unit, bool reused) {
    XAAS_CHECK(compare_levels(session_, writer_.draft().source,
                              [&](const std::string& level) { return difference_at(level, unit); }));
    return writer_.write(unit, reused, compile_.text());
  }

  // Null if Clang refuses the arguments there.
  std::shared_ptr<clang::CompilerInvocation> invocation_at(const std::string& level) const {
    clang::TextDiagnosticBuffer messages;
    std::shared_ptr<clang::CompilerInvocation> invocation =
        known::parse_command(at_level(session_, command_, level), messages);
    if (invocation) // this compile has written them
      invocation->getDependencyOutputOpts() = clang::DependencyOutputOptions();
    return invocation;
  }

  // Empty if the compile for another level gives the same unit, messages and object.
  std::string difference_at(const std::string& level, const known::KnownUnit& unit) const {
    session::Session session = session_;
    session.level = level;
    if (has_profile_ || !writer_.draft().plugins.empty() || !device_.offload.empty() || device_.capture)
      return "it has more than its source";
    if (!unit.plain && !(unit.working_features && working_level(session) == level))
      return "its working object is that of a level";
    const std::shared_ptr<clang::CompilerInvocation> invocation = invocation_at(level);
    const Result<ir::UnitOptions> options =
        invocation ? ir::options_of(*invocation)
                   : Result<ir::UnitOptions>(make_error(ErrorKind::failed, "arguments"));
    if (!options || options->digest() != writer_.draft().options)
      return "its options differ";
    return compile_.difference_for(session, *invocation, unit);
  }

  bool fails_at(const std::string& level, const std::string& messages) const {
    clang::TextDiagnosticBuffer of_arguments;
    const std::shared_ptr<clang::CompilerInvocation> invocation =
        known::parse_command(at_level(session_, command_, level), of_arguments);
    if (!invocation || device_.capture || !device_.offload.empty() || !names_only_files(command_) ||
        !known::may_be_known(session_, *invocation)) // it may write other files
      return false;
    std::string& dependencies = invocation->getDependencyOutputOpts().OutputFile;
    const std::string own = dependencies;
    if (own == "-")
      return false;
    const Result<TemporaryDirectory> directory = TemporaryDirectory::create(session_.directory, "compile-");
    if (!directory)
      return false;
    if (!own.empty())
      dependencies = (directory->path() / "dependencies").string();
    session::Session session = session_;
    session.level = level;
    const FrontendResult there = run_frontend(session, invocation, compile_.files(), &of_arguments);
    return !there.compiled && there.messages == messages && (own.empty() || same_lists(own, dependencies));
  }

  // Clang writes the list of files also after an error, unless it does not find one of them.
  static bool same_lists(const std::string& one, const std::string& other) {
    std::error_code code;
    const auto list = [&code](const std::string& file) {
      return fs::exists(file, code) ? read_file(file) : Result<std::string>(std::string());
    };
    const Result<std::string> first = list(one), second = list(other);
    return !code && first && second && *first == *second;
  }

  const session::Session& session_;
  const std::vector<std::string>& command_;
  const DeviceCode& device_;
  UnitWriter writer_;
  bool has_profile_;
  KnownCompile compile_;
};

} // namespace

CompileResult capture_compile(const session::Session& session, const WrittenMachine& written,
                              const std::vector<std::string>& command, const DeviceCode& device) {
  clang::TextDiagnosticBuffer messages;
  const std::shared_ptr<clang::CompilerInvocation> invocation = known::parse_command(command, messages);
  const bool is_ir = invocation && makes_object_from(*invocation, {clang::Language::LLVM_IR});
  if (!invocation ||
      (!is_ir && !makes_object_from(*invocation, {clang::Language::C, clang::Language::CXX,
                                                  clang::Language::CUDA, clang::Language::HIP})))
    return {CompileOutcome::not_ours, {}, {}};
  const fs::path output = invocation->getFrontendOpts().OutputFile;
  const std::string source = invocation->getFrontendOpts().Inputs[0].getFile().str();

  Result<std::vector<lower::PluginUse>> plugins = take_plugins(*invocation);
  if (!plugins)
    return {CompileOutcome::carried, output, plugins.error().message};
  clang::CompilerInvocation carried(*invocation);
  const std::string counts = take_counts(carried.getCodeGenOpts());
  Result<ir::UnitOptions> options = ir::options_of(carried);
  std::string refusal = refusal_of(*invocation, written);
  if (refusal.empty() && !options)
    refusal = options.error().message;
  if (!refusal.empty())
    return {CompileOutcome::carried, output, refusal};
  ir::Unit unit;
  unit.source = source == "-" ? "-" : portable_name(session, source);
  unit.machine = machine_flags(invocation->getTargetOpts(), written);
  unit.unoptimized = is_unoptimized(*options, written);
  unit.plugins = asked_plugins(*plugins);
  if (!counts.empty()) {
    const Result<Digest> profile = keep_counts(session, counts);
    if (!profile)
      return {CompileOutcome::carried, output, profile.error().message};
    unit.profile = *profile;
  }
  UnitWriter writer(session, *std::move(options), unit, output, *std::move(plugins));
  writer.set_lto(written.lto);
  // If the result is `carried`, Clang makes the object, or reports in its own words why it cannot.
  const Result<CompileResult> result =
      is_ir ? capture_ir(session, *invocation, std::move(writer))
            : Capture(session, command, invocation, std::move(writer), device).run(messages);
  if (result)
    return *result;
  std::cerr << "xaas: error: compiling " << source << ": " << result.error().message << "\n";
  return {CompileOutcome::failed, {}, {}};
}

} // namespace xaas::frontdoor
