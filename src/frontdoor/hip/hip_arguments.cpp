#include "hip/hip_arguments.h"
#include "arguments.h"
#include "driver_words.h"
#include "hip/rocm.h"

#include <xaas/base/text.h>

#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/TargetParser.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

bool has(const std::vector<std::string>& arguments, std::string_view prefix) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const std::string& argument) { return argument.starts_with(prefix); });
}

// The architectures of the code, in whichever form they are given.
std::vector<std::string> architectures(const session::Session& session,
                                       const std::vector<std::string>& arguments) {
  std::vector<std::string> archs = gpus_of(session, target::GpuArch::Vendor::amd);
  if (!archs.empty())
    return archs;
  for (const std::string& argument : arguments)
    for (const std::string_view option : {"--offload-arch=", "--cuda-gpu-arch="})
      if (argument.starts_with(option))
        for (const std::string& arch : split(argument.substr(option.size()), ','))
          archs.push_back(arch);
  if (archs.empty())
    archs.emplace_back("gfx906"); // Clang's default
  return archs;
}

// Clang defined it up to version 21, for the host, too, and HIP's headers before version 7 rely on that.
void define_wavefront_size(const session::Session& session, const std::vector<std::string>& arguments,
                           std::vector<std::string>& options) {
  constexpr unsigned first_without = 7;
  if (hip_version(session.rocm).value_or(first_without) >= first_without)
    return;
  const std::string definition = "-D__AMDGCN_WAVEFRONT_SIZE=";
  options.insert(options.end(), {"-Xarch_host", definition + "64"});
  const bool wave64 = std::find(arguments.begin(), arguments.end(), "-mwavefrontsize64") != arguments.end();
  for (const std::string& arch : architectures(session, arguments))
    options.insert(options.end(),
                   {"-Xarch_" + arch, definition + std::to_string(wavefront_size(arch, wave64))});
}

std::vector<std::string> sources(const std::vector<std::string>& arguments) {
  std::vector<std::string> found;
  for (const std::string& input : inputs_of(parse_driver(arguments)))
    for (const char* ending : {".hip", ".cpp", ".cc", ".cxx", ".c++", ".C", ".cu", ".c"})
      if (input.ends_with(ending)) {
        found.push_back(input);
        break;
      }
  return found;
}

} // namespace

std::string code_object_version(const session::Rocm& rocm) {
  for (const char* version : {"6", "5", "4"}) {
    std::error_code code;
    if (fs::exists(rocm.bitcode / ("oclc_abi_version_" + std::string(version) + "00.bc"), code))
      return version;
  }
  return {};
}

unsigned wavefront_size(const std::string& arch, bool wave64) {
  const auto kind = llvm::AMDGPU::parseArchAMDGCN(arch.substr(0, arch.find(':')));
  const bool may_be_32 = (llvm::AMDGPU::getArchAttrAMDGCN(kind) & llvm::AMDGPU::FEATURE_WAVE32) != 0;
  return may_be_32 && !wave64 ? 32 : 64;
}

std::vector<std::string> gpus_of(const session::Session& session, target::GpuArch::Vendor vendor) {
  const char* const prefix = vendor == target::GpuArch::Vendor::amd ? "gfx" : "sm_";
  std::vector<std::string> gpus;
  for (const std::string& gpu : session.gpus)
    if (gpu.starts_with(prefix))
      gpus.push_back(gpu);
  return gpus;
}

bool is_hip(const std::vector<std::string>& arguments) {
  return has_language(parse_driver(arguments), "hip", ".hip");
}

std::vector<std::string> hip_options(const session::Session& session,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> options = {"--start-no-unused-arguments"};
  if (!is_relocatable(arguments)) // as for CUDA
    options.emplace_back("--no-offload-new-driver");
  const session::Rocm& rocm = session.rocm;
  if (!rocm.root.empty())
    options.push_back("--rocm-path=" + rocm.root.string());
  if (!rocm.bitcode.empty()) {
    options.push_back("--rocm-device-lib-path=" + rocm.bitcode.string());
    const std::string version = code_object_version(rocm);
    if (!version.empty() && !has(arguments, "-mcode-object-version="))
      options.push_back("-mcode-object-version=" + version);
  }
  define_wavefront_size(session, arguments, options);
  // The suffix of a source's own device variables, which Clang derives from its path and the whole command
  // line. With several sources in one command, it would be the same for all.
  if (const std::vector<std::string> all = sources(arguments); all.size() == 1)
    options.push_back("-cuid=" + digest_of(portable_name(session, all.front())).hex().substr(0, 16));
  options.emplace_back("--end-no-unused-arguments");
  return options;
}

std::vector<std::string> with_hip_library(const session::Session& session, std::vector<std::string> command) {
  const std::string library = (session.rocm.bitcode / "hip.bc").string();
  const std::string option = "-mlink-builtin-bitcode";
  const auto first = std::find(command.begin(), command.end(), option); // none: -nogpulib
  std::error_code code;
  if (first != command.end() && fs::exists(library, code))
    command.insert(first, {option, library});
  return command;
}

std::optional<Error> hip_obstacle(const session::Session& session,
                                  const std::vector<std::string>& arguments) {
  if (has(arguments, "--rocm-device-lib-path="))
    return std::nullopt;
  for (const char* without :
       {"-nogpulib", "--cuda-host-only", "--offload-host-only", "-E", "-M", "-MM", "-fsyntax-only"})
    if (std::find(arguments.begin(), arguments.end(), without) != arguments.end())
      return std::nullopt;
  if (!is_hip(arguments) || session.rocm.root.empty())
    return std::nullopt;
  const unsigned writer = llvm_of_device_libraries(session.rocm).value_or(0);
  if (writer > LLVM_VERSION_MAJOR)
    return make_error(ErrorKind::missing_tool,
                      "AMD's device libraries in " + session.rocm.bitcode.string() + " are bitcode of LLVM " +
                          std::to_string(writer) + ", which xaas cannot read: its own is LLVM " +
                          std::to_string(LLVM_VERSION_MAJOR),
                      "set HIP_DEVICE_LIB_PATH to the directory of those of an older ROCm");
  if (!session.rocm.bitcode.empty())
    return std::nullopt;
  return make_error(
      ErrorKind::missing_tool,
      "HIP is installed below " + session.rocm.root.string() +
          ", but the device libraries that it needs (ocml.bc and others) are not",
      "install them (rocm-device-libs of Debian), or set HIP_DEVICE_LIB_PATH to their directory");
}

} // namespace xaas::frontdoor
