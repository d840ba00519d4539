#include "cuda/sides.h"

#include "arguments.h"
#include "cuda/words.h"
#include "driver_words.h"

#include <clang/Options/OptionUtils.h>
#include <clang/Options/Options.h>
#include <llvm/Option/OptTable.h>

#include <utility>

namespace xaas::frontdoor {

namespace {

// True if an option of the host compiler controls code generation or warnings, and so is for the host alone.
bool is_for_host_only(const llvm::opt::Option& option) {
  namespace o = clang::options;
  if (option.hasFlag(o::NoXarchOption) || option.matches(o::OPT_fopenmp) || option.matches(o::OPT_fopenmp_EQ))
    return false;
  return option.matches(o::OPT_f_Group) || option.matches(o::OPT_O_Group) || option.matches(o::OPT_g_Group) ||
         option.matches(o::OPT_W_Group) || option.matches(o::OPT_pedantic_Group) || option.matches(o::OPT_w);
}

bool is_warning_as_error(const llvm::opt::Option& option, const std::string& word) {
  return option.matches(clang::options::OPT_pedantic_errors) || word == "-Werror" ||
         word.starts_with("-Werror=");
}

// Assigns words of the host compiler to the sides that they are for.
Result<Words> host_compiler_words(const Words& given, bool has_cuda, bool links) {
  Words result;
  for (const DriverOption& each : parse_driver(given)) {
    const llvm::opt::Option option = clang::getDriverOptTable().getOption(each.id);
    const std::string& word = each.word();
    if (each.lacks_value)
      return make_error(ErrorKind::failed,
                        "nvcc -Xcompiler " + word + ": the value of the host compiler's option is missing");
    if (each.id == clang::options::OPT_UNKNOWN)
      return nvcc_refusal("-Xcompiler " + word, "follow this option of the host compiler");
    const bool alone = each.words.size() == 1;
    if ((alone && is_dropped_by_front_door(word)) || is_warning_as_error(option, word) ||
        (!links && option.hasFlag(clang::options::LinkerInput)))
      continue;
    if (has_cuda && alone && is_for_host_only(option))
      result.push_back("-Xarch_host");
    append(result, each.words);
  }
  return result;
}

// nvcc's words for the host compiler: those of -Xcompiler, then those that nvcc does not know.
Result<Words> words_for_host(const NvccRequest& request) {
  XAAS_TRY(Words words, tool_words(request, "-Xcompiler"));
  if (!request.has("-forward-unknown-to-host-compiler") && !request.has("-forward-unknown-opts"))
    return words;
  for (const std::string& word : request.unknown()) {
    XAAS_TRY(const Words more, shell_words(word).in("nvcc " + word));
    append(words, more);
  }
  return words;
}

// Clang's sqrtf is that of libdevice, which is exact only if __CUDA_PREC_SQRT says so.
Words square_root_options(const NvccMath& math, bool approximated_in_ir) {
  if (math.exact_square_root)
    return {"-Xarch_device", "-mllvm=-nvvm-reflect-add=__CUDA_PREC_SQRT=1"};
  if (!approximated_in_ir)
    return {"-Xarch_device", "-mllvm=-nvptx-prec-sqrtf32=0"};
  return {};
}

Words math_options(const NvccRequest& request, const NvccMath& math) {
  Words words;
  const bool fast = request.has("-use_fast_math");
  // One flag in the IR covers both. If only one is approximated, or without the loss of range that
  // --use_fast_math allows (2: exact, 1: full range, 0: fastest), options of the code generator are needed.
  const bool approximated_in_ir = fast && !math.exact_division && !math.exact_square_root;
  if (math.flush_denormals)
    words.push_back("-fgpu-flush-denormals-to-zero");
  if (fast)
    words.push_back("-fgpu-approx-transcendentals");
  if (approximated_in_ir)
    append(words, {"-Xarch_device", "-fapprox-func"});
  else if (!math.exact_division)
    append(words, {"-Xarch_device", std::string("-mllvm=-nvptx-prec-divf32=") + (fast ? "0" : "1")});
  append(words, square_root_options(math, approximated_in_ir));
  if (!math.contract)
    append(words, {"-Xarch_device", "-ffp-contract=off"});
  return words;
}

} // namespace

Result<Words> host_options(const NvccRequest& request, const NvccInputs& inputs, bool links) {
  Words words;
  if (const auto standard = request.last("-std"); standard && inputs.has_cxx)
    words.push_back("-std=" + *standard);
  XAAS_TRY(const Words given, words_for_host(request));
  XAAS_TRY(const Words own, host_compiler_words(given, inputs.has_cuda, links));
  append(words, own);
  if (const auto level = request.last("-O"))
    words.push_back("-O" +
                    (level->size() > 1 || *level > "3" ? "3" : *level)); // levels above 3 do nothing more
  for (const auto& [name, word] : {std::pair{"-g", "-g"}, {"-noeh", "-fno-exceptions"}, {"-pg", "-pg"}}) {
    if (!request.has(name))
      continue;
    if (inputs.has_cuda)
      words.push_back("-Xarch_host");
    words.push_back(word);
  }
  if (request.has("-w")) // unlike -w, later options can override it
    words.push_back("-Wno-everything");
  for (const char* name : {"-ftemplate-depth", "-ftemplate-backtrace-limit"})
    if (const auto limit = request.last(name))
      words.push_back(std::string(name) + "=" + *limit);
  return words;
}

NvccMath math_of(const NvccRequest& request) {
  const bool fast = request.has("-use_fast_math");
  return {.flush_denormals = request.last_is_true("-ftz", fast),
          .exact_division = request.last_is_true("-prec-div", !fast),
          .exact_square_root = request.last_is_true("-prec-sqrt", !fast),
          .contract = request.last_is_true("-fmad", true)};
}

Words device_options(const NvccRequest& request, const NvccTranslation& translation) {
  Words words;
  const bool for_debugger = request.has("-G") && !request.has("-dopt");
  if (for_debugger)
    append(words, {"--cuda-noopt-device-debug", "-Xarch_device", "-g", "-Xarch_device", "-O0"});
  else
    append(words, {"-Xarch_device", "-O3"});
  if (!for_debugger && (request.has("-lineinfo") || request.has("-G")))
    append(words, {"-Xarch_device", "-gline-tables-only"});
  append(words, math_options(request, translation.math));
  words.push_back("-Werror=ignored-attributes"); // otherwise __managed__ would give a variable of the host
  if (request.last("-default-stream") == "per-thread")
    words.push_back("-fgpu-default-stream=per-thread");
  for (const std::string& option : translation.ptxas_options)
    append(words, {"-Xcuda-ptxas", option});
  return words;
}

} // namespace xaas::frontdoor
