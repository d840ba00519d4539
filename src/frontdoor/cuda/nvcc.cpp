// Problem: projects write their CUDA builds for nvcc. Its options have other names, scopes and defaults than
// Clang's, and its parser has its own quoting rules.
//
// Example: nvcc -O2 -Xcompiler=-ffast-math,-O0 -gencode arch=compute_80,code=sm_86 -G -dopt=on -c k.cu
//
//     -gencode arch=...,code=...   --offload-arch=sm_80: the architecture that __CUDA_ARCH__ shows
//     -Xcompiler=-ffast-math       -Xarch_host -ffast-math: kernels keep IEEE arithmetic
//     -Xcompiler=-O0 and -O2       -Xarch_host -O0, then -O2: nvcc passes its own -O last, so it wins
//     no option                    -Xarch_device -O3: nvcc always optimizes device code, except with -G
//     -G -dopt=on                  -Xarch_device -gline-tables-only: optimized code with lines
//     -c k.cu                      -c -x cuda k.cu
//
// Approach: read the command line as nvcc does (options.cpp, words.cpp), then ask questions about it
// (request.cpp) and write one part of Clang's command line after the other, in the order in which nvcc passes
// arguments to its host compiler, because there the last one wins.
//
// Rejected: translating each word as it comes. nvcc's order is not the command line's (-Xcompiler=-O0 loses
// against an earlier -O2), and the meaning of a word depends on others (-o with -M, -G with -dopt=on,
// --use_fast_math with -ftz=false, in any order).
//
// Rejected: passing all options of the host compiler plainly, as users of Clang do. Clang applies plain
// options to both sides, so a kernel would get the host's -ffast-math, -O0 or -fvisibility=hidden.
#include "cuda/nvcc.h"
#include "cuda/archs.h"
#include "cuda/request.h"
#include "cuda/sides.h"
#include "cuda/words.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace xaas::frontdoor {

namespace {

NvccPhase phase_of(const NvccRequest& request) {
  if (request.has("-M") || request.has("-MM"))
    return NvccPhase::dependencies;
  if (request.has("-E"))
    return NvccPhase::preprocess;
  if (request.has("-dlink"))
    return NvccPhase::device_link;
  if (request.has("-lib"))
    return NvccPhase::archive;
  if (request.has("-c") || request.has("-dc") || request.has("-dw"))
    return NvccPhase::compile;
  return NvccPhase::link;
}

Result<Words> preprocessor_options(const NvccRequest& request, const NvccContext& context,
                                   const NvccInputs& inputs) {
  const fs::path& toolkit = context.toolkit;
  Words words;
  if (!context.first_headers.empty() && inputs.has_cuda)
    append(words, {"-iquote", context.first_headers.string()});
  for (const std::string& file : request.all("-include"))
    append(words, {"-include", file});
  for (const std::string& directory : request.all("-I"))
    words.push_back("-I" + directory);
  for (const std::string& directory : request.all("-isystem"))
    append(words, {"-isystem", directory});
  // nvcc provides the toolkit's headers for every source, Clang for CUDA only. Since CUDA 13, those of CUB
  // and Thrust are in a separate directory that Clang does not know. If a host source defines __CUDACC__
  // (CMake's FindCUDA does, to list a source's headers), they refuse host compilers that they do not know.
  if (!toolkit.empty() && inputs.has_host_source)
    append(words, {"-isystem", (toolkit / "include").string(), "-D__NV_NO_HOST_COMPILER_CHECK=1"});
  if (!toolkit.empty() && fs::is_directory(toolkit / "include" / "cccl"))
    append(words, {"-isystem", (toolkit / "include" / "cccl").string()});
  for (const NvccGiven& given : request.command().options) {
    if (!NvccRequest::is(given, "-D") && !NvccRequest::is(given, "-U"))
      continue;
    for (const std::string& part : given.values) {
      XAAS_TRY(const std::string macro, nvcc_macro(part).in("nvcc " + given.spelling));
      words.push_back(std::string(given.option->short_name) + macro);
    }
  }
  return words;
}

Words dependency_options(const NvccRequest& request) {
  Words words;
  for (const char* name : {"-M", "-MM", "-MD", "-MMD", "-MP"})
    if (request.has(name))
      words.push_back(name);
  for (const char* name : {"-MF", "-MT"})
    if (const auto value = request.last(name))
      append(words, {name, *value});
  return words;
}

// -o, or the output that -odir implies: nvcc's way to place an object without naming it.
Result<Words> output_options(const NvccRequest& request, NvccPhase phase, const NvccInputs& inputs) {
  const auto output = request.last("-o"), directory = request.last("-odir");
  const bool names_object = phase == NvccPhase::compile || phase == NvccPhase::dependencies;
  Words words;
  if (directory && !output && names_object) {
    if (inputs.sources != 1)
      return nvcc_refusal("-odir " + *directory, "name the outputs of several sources");
    const fs::path object =
        fs::path(*directory) / (fs::path(request.command().inputs[0]).stem().string() + ".o");
    if (phase == NvccPhase::compile)
      append(words, {"-o", object.string()});
    else if (!request.has("-MT"))
      append(words, {"-MT", object.string()});
  }
  if (output)
    append(words, {"-o", *output});
  return words;
}

Words phase_options(const NvccRequest& request, const NvccTranslation& translation) {
  Words words;
  switch (translation.phase) {
  case NvccPhase::compile:
    words.push_back("-c");
    break;
  case NvccPhase::preprocess:
    words.push_back("-E");
    if (translation.has_cuda)
      words.push_back("--cuda-device-only"); // nvcc prints the device's side
    break;
  case NvccPhase::dependencies:
    if (translation.has_cuda)
      words.push_back("--cuda-host-only"); // one side, one list
    break;
  case NvccPhase::archive:
    words.push_back("--emit-static-lib");
    break;
  case NvccPhase::link:
    if (!request.has("-nodlink"))
      words.push_back("--offload-link");
    break;
  case NvccPhase::device_link:
    break;
  }
  if (translation.relocatable_device_code)
    words.push_back("-fgpu-rdc");
  return words;
}

// nvcc quotes each word for its shell, so that a `$ORIGIN` stays as it is.
Result<Words> linker_words(const NvccRequest& request) {
  Words words;
  for (const std::string& part : request.all("-Xlinker")) {
    XAAS_TRY(Words pieces, environment_words(part).in("nvcc -Xlinker"));
    for (std::string& piece : pieces) {
      std::erase(piece, '"');
      append(words, {"-Xlinker", piece});
    }
  }
  if (request.has("-forward-unknown-to-host-linker") || request.has("-forward-unknown-opts"))
    for (const std::string& word : request.unknown())
      append(words, {"-Xlinker", word});
  return words;
}

Words runtime_library(const NvccRequest& request) {
  const std::string kind = request.last("-cudart").value_or("static");
  if (kind == "none" || request.has("-r"))
    return {};
  if (kind == "shared")
    return {"-lcudart"};
  return {"-lcudart_static", "-lrt", "-lpthread", "-ldl"};
}

// nvcc puts all inputs and libraries between --start-group and --end-group; lld needs no groups.
Result<Words> link_options(const NvccRequest& request, const NvccTranslation& translation,
                           const fs::path& toolkit) {
  Words words;
  if (request.has("-shared"))
    words.push_back("-shared");
  if (request.has("-r"))
    append(words, {"-r", "-nostdlib"});
  XAAS_TRY(const Words linker, linker_words(request));
  append(words, linker);
  for (const std::string& option : translation.nvlink_options)
    append(words, {"-Xoffload-linker", option});
  for (const std::string& directory : request.all("-L"))
    words.push_back("-L" + directory);
  for (const std::string& library : request.all("-l"))
    words.push_back("-l" + library);
  if (!toolkit.empty())
    for (const char* directory : {"lib64/stubs", "lib64"})
      words.push_back("-L" + (toolkit / directory).string());
  // The device's part of the run-time library, for kernels that launch kernels.
  if (!toolkit.empty() && !request.has("-nodlink") && request.last("-cudadevrt") != "none")
    append(words, {"-Xoffload-linker", (toolkit / "lib64" / "libcudadevrt.a").string()});
  append(words, runtime_library(request));
  return words;
}

// Everything but the arguments.
Result<NvccTranslation> facts_of(const NvccRequest& request, const NvccInputs& inputs) {
  NvccTranslation translation;
  translation.is_verbose = request.has("-v");
  translation.phase = phase_of(request);
  translation.inputs = request.command().inputs;
  translation.output = request.last("-o").value_or("");
  translation.has_cuda = inputs.has_cuda;
  XAAS_TRY(NvccArchs archs, nvcc_archs(request.last("-arch"), request.all("-code"), request.all("-gencode")));
  translation.gpu_archs = std::move(archs.archs);
  translation.gpu_codes = std::move(archs.codes);
  translation.relocatable_device_code =
      request.has("-dc") || (request.last_is_true("-rdc", false) && !request.has("-dw"));
  translation.device_lto = archs.device_lto || request.has("-dlto") || request.has("-lto");
  translation.math = math_of(request);
  XAAS_TRY(translation.ptxas_options, tool_words(request, "-Xptxas"));
  if (const auto registers = request.last("-maxrregcount"))
    translation.ptxas_options.push_back("-maxrregcount=" + *registers);
  XAAS_TRY(translation.nvlink_options, tool_words(request, "-Xnvlink"));
  translation.host_compiler = request.last("-ccbin").value_or("");
  return translation;
}

Result<NvccTranslation> translate(const NvccRequest& request, const NvccContext& context) {
  const fs::path& toolkit = context.toolkit;
  XAAS_CHECK(check_request(request));
  // The device link reads its inputs itself; their kinds do not matter here.
  if (phase_of(request) == NvccPhase::device_link)
    return facts_of(request, {});
  XAAS_TRY(const NvccInputs inputs, inputs_of(request));
  XAAS_TRY(NvccTranslation translation, facts_of(request, inputs));
  const bool links = translation.phase == NvccPhase::link;

  Words& words = translation.arguments;
  // A build that was written for nvcc must not get Clang's warnings about options that an invocation does not
  // use.
  words.push_back("--start-no-unused-arguments");
  if (!toolkit.empty())
    words.push_back("--cuda-path=" + toolkit.string());
  XAAS_TRY(const Words host, host_options(request, inputs, links));
  append(words, host);
  if (inputs.has_cuda)
    append(words, device_options(request, translation));
  XAAS_TRY(const Words preprocessor, preprocessor_options(request, context, inputs));
  append(words, preprocessor);
  append(words, dependency_options(request));
  append(words, phase_options(request, translation));
  if (translation.is_verbose)
    words.push_back("-v");
  words.push_back("--end-no-unused-arguments");
  XAAS_TRY(const Words output, output_options(request, translation.phase, inputs));
  append(words, output);
  append(words, inputs.words);
  if (links) {
    XAAS_TRY(const Words linking, link_options(request, translation, toolkit));
    append(words, linking);
  }
  return translation;
}

} // namespace

Result<NvccTranslation> clang_arguments(const std::vector<std::string>& nvcc_arguments,
                                        const NvccContext& context) {
  XAAS_TRY(Words words, environment_words(context.prepend_flags).in("NVCC_PREPEND_FLAGS"));
  append(words, nvcc_arguments);
  XAAS_TRY(const Words last, environment_words(context.append_flags).in("NVCC_APPEND_FLAGS"));
  append(words, last);
  XAAS_TRY(NvccCommand command, parse_nvcc(words, context.read));
  const NvccRequest request(std::move(command));
  if (is_query(request)) {
    NvccTranslation query;
    query.is_query = true;
    return query;
  }
  return translate(request, context);
}

std::vector<std::string> with_architectures(const NvccTranslation& translation,
                                            const std::vector<std::string>& archs) {
  Words words;
  for (const std::string& arch : archs)
    if (translation.phase != NvccPhase::preprocess || words.empty())
      words.push_back("--offload-arch=" + arch);
  if (!translation.has_cuda && translation.phase != NvccPhase::link)
    words.clear();
  append(words, translation.arguments);
  return words;
}

} // namespace xaas::frontdoor
