#include "device/compile.h"
#include "c/known_compile.h"
#include "installed_toolkit.h"

#include <xaas/harvest/identify.h>
#include <xaas/ir/device_image.h>
#include <xaas/ir/options.h>
#include <xaas/known/invocation.h>
#include <xaas/known/places.h>
#include <xaas/session/log.h>
#include <xaas/target/gpu.h>

#include <clang/Basic/TargetOptions.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <charconv>
#include <iostream>

namespace xaas::frontdoor {

namespace {

// The actions by which the driver generates device code before it is assembled, linked or packed.
bool generates_code(clang::frontend::ActionKind action) {
  return action == clang::frontend::EmitAssembly || action == clang::frontend::EmitBC ||
         action == clang::frontend::EmitObj;
}

std::string refusal_of(const clang::CompilerInvocation& invocation) {
  const clang::FrontendOptions& frontend = invocation.getFrontendOpts();
  if (!frontend.Plugins.empty())
    return "a Clang plugin";
  // Code for several GPUs (gfx9-generic), or for some settings of one (gfx90a:xnack+).
  const clang::TargetOptions& target = invocation.getTargetOpts();
  if (!llvm::Triple(target.Triple).isAMDGPU())
    return {};
  if (!target::parse_gpu_arch(target.CPU))
    return "device code for " + target.CPU;
  for (const std::string& feature : target.FeaturesAsWritten)
    if (feature.ends_with("xnack") || feature.ends_with("sramecc"))
      return "device code for one setting of the GPU (" + feature + ")";
  return {};
}

Result<std::vector<Digest>> libraries_of(const session::Session& session,
                                         clang::CompilerInvocation& invocation) {
  std::vector<Digest> libraries;
  for (const clang::CodeGenOptions::BitcodeFileToLink& file : invocation.getCodeGenOpts().LinkBitcodeFiles) {
    const fs::path path = file.Filename;
    XAAS_TRY(const link::FileRef ref, harvest::identify(session, path, path.filename().string()));
    libraries.push_back(ref.digest);
  }
  invocation.getCodeGenOpts().LinkBitcodeFiles.clear();
  return libraries;
}

// Parses a text that is a number as a whole; nothing for any other.
std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value)
                                                                                   : std::nullopt;
}

// Reads the driver's arguments for the assembler as typed options. Failed: an unknown option.
Result<void> read_assembler_options(const std::vector<std::string>& arguments, ir::UnitOptions& options) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    std::optional<int64_t> value;
    if (argument == "--gpu-name" || argument == "--output-file")
      ++i;
    else if (argument == "-g")
      options.gpu[ir::ptxas_debug] = 1;
    else if (argument.starts_with("-O") && (value = number(argument.substr(2))))
      options.gpu[ir::ptxas_level] = std::min<int64_t>(*value, 3);
    else if (argument.starts_with("-maxrregcount=") && (value = number(argument.substr(14))))
      options.gpu[ir::ptxas_registers] = *value;
    else if (argument.starts_with("-") && argument != "-c" && argument != "-m64" && argument != "-v" &&
             argument != "--verbose" && argument != "-lineinfo" && argument != "--generate-line-info" &&
             argument != "--dont-merge-basicblocks" && argument != "--return-at-end")
      return make_error(ErrorKind::failed, "options for the GPU's assembler (" + std::string(argument) + ")");
  }
  return {};
}

// Machine code of a GPU is always made for the target's GPU; code for the CPU follows the flags, as
// elsewhere.
ir::MachineFlags machine_of(const DeviceResult& result, const clang::TargetOptions& options,
                            const WrittenMachine& written) {
  if (result.arch == ir::host_device)
    return machine_flags(options, written);
  return {{}, {}, options.FeaturesAsWritten};
}

// The unit's typed options, those for the assembler included. An error says why they cannot be carried.
Result<ir::UnitOptions> options_of(const session::Session& session,
                                   const clang::CompilerInvocation& invocation,
                                   const std::vector<std::string>& assembler) {
  XAAS_TRY(ir::UnitOptions options, ir::options_of(invocation));
  XAAS_CHECK(read_assembler_options(assembler, options));
  if (const std::optional<int64_t> version = cuda_version(session); version && invocation.getLangOpts().CUDA)
    options.gpu[ir::cuda_version] = *version;
  return options;
}

DeviceResult carried(DeviceResult result, const std::string& reason) {
  result.outcome = CompileOutcome::carried;
  result.reason = reason;
  return result;
}

// One compile for a device, either known already or done by the front end.
class DeviceCapture {
public:
  DeviceCapture(const session::Session& session, std::shared_ptr<clang::CompilerInvocation> invocation,
                ir::UnitOptions options, ir::Unit draft, Messages said, DeviceResult result)
      : session_(session), options_(std::move(options)), unit_(std::move(draft)), said_(said),
        result_(std::move(result)), compile_(session, std::move(invocation), unit_) {}

  Result<DeviceResult> run(const clang::TextDiagnosticBuffer& messages) {
    if (const known::KnownUnit* known = compile_.find()) {
      print(known::with_places(session_, known->messages));
      return captured(*known, true);
    }
    XAAS_TRY(FrontendResult frontend, compile_.compile(&messages));
    if (!frontend.refusal.empty()) // Clang compiles it again, and prints its own messages
      return carried(std::move(result_), frontend.refusal);
    print(frontend.messages);
    if (!frontend.compiled)
      return std::move(result_);
    const known::KnownUnit outcome = compile_.outcome_of(frontend);
    compile_.file(outcome);
    return captured(outcome, false);
  }

private:
  void print(const std::string& messages) const {
    if (said_ == Messages::printed)
      std::cerr << messages;
  }

  Result<DeviceResult> captured(const known::KnownUnit& outcome, bool reused) {
    const store::ContentStore content = session_.content();
    XAAS_TRY(unit_.module, content.put(outcome.bitcode));
    XAAS_TRY(unit_.options, content.put(ir::to_json(options_).dump()));
    XAAS_TRY(result_.unit, content.put(ir::to_json(unit_).dump()));
    XAAS_CHECK(session::log_compile(session_, {.unit = result_.unit,
                                               .text = compile_.text(),
                                               .reused = reused,
                                               .source = unit_.source + " for " + result_.arch}));
    result_.outcome = CompileOutcome::captured;
    result_.empty = !outcome.has_definitions;
    return std::move(result_);
  }

  const session::Session& session_;
  ir::UnitOptions options_;
  ir::Unit unit_;
  Messages said_;
  DeviceResult result_;
  KnownCompile compile_;
};

Result<DeviceResult> capture(const session::Session& session, const WrittenMachine& written,
                             std::shared_ptr<clang::CompilerInvocation> invocation,
                             const clang::TextDiagnosticBuffer& messages,
                             const std::vector<std::string>& assembler, Messages said, DeviceResult result) {
  if (const std::string refusal = refusal_of(*invocation); !refusal.empty())
    return carried(std::move(result), refusal);
  ir::Unit unit;
  unit.source = portable_name(session, result.source);
  XAAS_TRY(unit.libraries, libraries_of(session, *invocation));
  Result<ir::UnitOptions> options = options_of(session, *invocation, assembler);
  if (!options)
    return carried(std::move(result), options.error().message);
  unit.machine = machine_of(result, invocation->getTargetOpts(), written);
  return DeviceCapture(session, std::move(invocation), *std::move(options), std::move(unit), said,
                       std::move(result))
      .run(messages);
}

// Empty for a device that we do not support.
std::string arch_of(const session::Session& session, const clang::TargetOptions& options) {
  const llvm::Triple triple(options.Triple);
  if (triple.isNVPTX() || triple.isAMDGPU())
    return options.CPU;
  return triple.getArchName() == session.arch ? ir::host_device : "";
}

} // namespace

std::optional<int64_t> cuda_version(const session::Session& session) {
  return defined_number(session.cuda / "include" / "cuda.h", "CUDA_VERSION");
}

bool is_device_compile(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word == "-fcuda-is-device" || word == "-fopenmp-is-target-device";
  });
}

DeviceResult capture_device(const session::Session& session, const WrittenMachine& written,
                            const std::vector<std::string>& command,
                            const std::vector<std::string>& assembler, const std::string& host_module,
                            Messages said) {
  clang::TextDiagnosticBuffer messages;
  const std::shared_ptr<clang::CompilerInvocation> invocation = known::parse_command(command, messages);
  DeviceResult result;
  result.outcome = CompileOutcome::not_ours;
  if (!invocation || invocation->getFrontendOpts().Inputs.size() != 1 ||
      !generates_code(invocation->getFrontendOpts().ProgramAction))
    return result;
  result.source = invocation->getFrontendOpts().Inputs[0].getFile().str();
  result.arch = arch_of(session, invocation->getTargetOpts());
  if (result.arch.empty())
    return carried(std::move(result),
                   "a device of another architecture (" + invocation->getTargetOpts().Triple + ")");
  result.outcome = CompileOutcome::failed;
  if (!host_module.empty())
    invocation->getLangOpts().OMPHostIRFile = host_module;
  const Result<DeviceResult> captured =
      capture(session, written, invocation, messages, assembler, said, result);
  if (captured)
    return *captured;
  std::cerr << "xaas: error: compiling " << result.source << " for " << result.arch << ": "
            << captured.error().message << "\n";
  return result;
}

Result<fs::path> device_image_placeholder(const session::Session& session, ir::DeviceRuntime runtime) {
  const fs::path path =
      session.directory / (runtime == ir::DeviceRuntime::hip ? "device-bundle" : "device-image");
  std::error_code code;
  if (!fs::exists(path, code))
    XAAS_CHECK(write_file(path, ir::device_image_placeholder(runtime), 0644, false));
  return path;
}

} // namespace xaas::frontdoor
