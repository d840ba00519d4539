#include "options.h"

#include <xaas/known/known.h>
#include <xaas/known/places.h>
#include <xaas/known/preprocess.h>

#include <clang/Basic/CodeGenOptions.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/TargetOptions.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/DependencyOutputOptions.h>
#include <clang/Lex/HeaderSearchOptions.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <set>

namespace xaas::known {

namespace {

// LLVM's names of x86 features that give the front end nothing but instructions (X86TargetParser.def).
const std::set<std::string, std::less<>>& instructions() {
  static const std::set<std::string, std::less<>> names = {"adx",
                                                           "aes",
                                                           "amx-bf16",
                                                           "amx-complex",
                                                           "amx-fp16",
                                                           "amx-int8",
                                                           "amx-tile",
                                                           "avx",
                                                           "avx2",
                                                           "avx512bf16",
                                                           "avx512bitalg",
                                                           "avx512bw",
                                                           "avx512cd",
                                                           "avx512dq",
                                                           "avx512f",
                                                           "avx512fp16",
                                                           "avx512ifma",
                                                           "avx512vbmi",
                                                           "avx512vbmi2",
                                                           "avx512vl",
                                                           "avx512vnni",
                                                           "avx512vp2intersect",
                                                           "avx512vpopcntdq",
                                                           "avxifma",
                                                           "avxneconvert",
                                                           "avxvnni",
                                                           "avxvnniint16",
                                                           "avxvnniint8",
                                                           "bmi",
                                                           "bmi2",
                                                           "cldemote",
                                                           "clflushopt",
                                                           "clwb",
                                                           "clzero",
                                                           "cmpccxadd",
                                                           "crc32",
                                                           "cx16",
                                                           "enqcmd",
                                                           "f16c",
                                                           "fma",
                                                           "fma4",
                                                           "fsgsbase",
                                                           "gfni",
                                                           "hreset",
                                                           "invpcid",
                                                           "lwp",
                                                           "lzcnt",
                                                           "movbe",
                                                           "movdir64b",
                                                           "movdiri",
                                                           "mwaitx",
                                                           "pclmul",
                                                           "pconfig",
                                                           "pku",
                                                           "popcnt",
                                                           "prefetchi",
                                                           "prfchw",
                                                           "ptwrite",
                                                           "raoint",
                                                           "rdpid",
                                                           "rdpru",
                                                           "rdrnd",
                                                           "rdseed",
                                                           "rtm",
                                                           "sahf",
                                                           "serialize",
                                                           "sgx",
                                                           "sha",
                                                           "sha512",
                                                           "sm3",
                                                           "sm4",
                                                           "sse3",
                                                           "sse4.1",
                                                           "sse4.2",
                                                           "sse4a",
                                                           "ssse3",
                                                           "tbm",
                                                           "tsxldtrk",
                                                           "uintr",
                                                           "vaes",
                                                           "vpclmulqdq",
                                                           "waitpkg",
                                                           "wbnoinvd",
                                                           "xop",
                                                           "xsave",
                                                           "xsavec",
                                                           "xsaveopt",
                                                           "xsaves"};
  return names;
}

// A compile for a GPU whose auxiliary target, the host, is x86-64.
bool is_for_gpu_beside_x86(const clang::CompilerInvocation& invocation) {
  return invocation.getLangOpts().CUDAIsDevice &&
         llvm::Triple(invocation.getFrontendOpts().AuxTriple).getArch() == llvm::Triple::x86_64;
}

std::vector<std::string> spelling_of(const session::Session& session, clang::CompilerInvocation invocation) {
  invocation.getDependencyOutputOpts() = clang::DependencyOutputOptions();
  invocation.getTargetOpts().CPU.clear();
  invocation.getTargetOpts().TuneCPU.clear();
  invocation.getTargetOpts().FeaturesAsWritten.clear();
  invocation.getFrontendOpts().OutputFile.clear();
  invocation.getCodeGenOpts().CudaGpuBinaryFileName.clear();
  clang::FrontendOptions& frontend = invocation.getFrontendOpts();
  if (is_for_gpu_beside_x86(invocation)) {
    frontend.AuxTargetCPU.reset();
    if (frontend.AuxTargetFeatures)
      frontend.AuxTargetFeatures = features_of_meaning(*frontend.AuxTargetFeatures);
  }
  frontend.Inputs = {clang::FrontendInputFile("-", frontend.Inputs.front().getKind())};
  std::vector<std::string> options;
  invocation.generateCC1CommandLine(
      [&](const llvm::Twine& argument) { options.push_back(without_places(session, argument.str())); });
  return options;
}

} // namespace

std::vector<std::string> features_of_meaning(const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (const std::string& flag : flags)
    if (!instructions().count(std::string_view(flag).substr(1)))
      kept.push_back(flag);
  return kept;
}

std::vector<std::string> options_of_meaning(const session::Session& session,
                                            const clang::CompilerInvocation& invocation) {
  clang::CompilerInvocation copy(invocation);
  copy.getHeaderSearchOpts() = clang::HeaderSearchOptions();
  copy.getHeaderSearchOpts().Sysroot = invocation.getHeaderSearchOpts().Sysroot; // part of debug information
  copy.getPreprocessorOpts() = clang::PreprocessorOptions();
  return spelling_of(session, std::move(copy));
}

std::vector<std::string> options_of_preprocessor(const session::Session& session,
                                                 const clang::CompilerInvocation& invocation) {
  return spelling_of(session, invocation);
}

void add_target(Hasher& key, const clang::CompilerInvocation& invocation,
                const std::vector<std::string>& features) {
  const bool x86 = is_for_x86(invocation);
  for (const std::string& feature : features)
    if (!x86 || !instructions().count(feature))
      key.update_part(feature);
  if (!x86)
    key.update_part(invocation.getTargetOpts().CPU);
}

bool is_for_x86(const clang::CompilerInvocation& invocation) {
  return llvm::Triple(invocation.getTargetOpts().Triple).getArch() == llvm::Triple::x86_64;
}

bool has_debug_information(const session::Session& session, const clang::CompilerInvocation& invocation) {
  return invocation.getCodeGenOpts().getDebugInfo() != llvm::codegenoptions::NoDebugInfo &&
         !session.strip_debug;
}

void describe_target(const clang::CompilerInstance& compiler, Preprocessed& result) {
  result.features.clear();
  for (const auto& feature : compiler.getTarget().getTargetOpts().FeatureMap)
    if (feature.getValue())
      result.features.push_back(feature.getKey().str());
  std::sort(result.features.begin(), result.features.end());
  result.atomic_width = compiler.getTarget().getMaxAtomicInlineWidth();
}

} // namespace xaas::known
