// The problem: projects write their CUDA builds for nvcc, whose options have other names, other scopes and
// other defaults than Clang's, and whose parser has quoting rules of its own. The approach: read the command
// line as nvcc does (nvcc_options, nvcc_words), then ask what was read for one part of Clang's command line
// after the other, in the order in which nvcc gives the host compiler its arguments, because there the last
// one wins.
//
// Rejected: putting words through one by one as they come. nvcc's order is not the command line's
// (-Xcompiler=-O0 loses against an -O2 before it), and a word means different things by what else is there
// (-o with -M, -G with -dopt=on, --use_fast_math with -ftz=false, in any order).
//
// Rejected: all of the host compiler's options plain, as users of Clang write them. Clang gives plain options
// to both sides; a kernel would then get the host's -ffast-math, -O0 or -fvisibility=hidden.
#include "cuda/nvcc.h"
#include "arguments.h"
#include "cuda/archs.h"
#include "cuda/words.h"
#include "driver_words.h"

#include <xaas/base/text.h>

#include <clang/Options/OptionUtils.h>
#include <clang/Options/Options.h>
#include <llvm/Option/OptTable.h>

#include <algorithm>
#include <map>
#include <optional>

namespace xaas::frontdoor {

namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// Questions to what was read. Options go by their short names.
class Asked {
public:
  explicit Asked(NvccCommand command) : command_(std::move(command)) {}

  const NvccCommand& command() const { return command_; }

  bool has(std::string_view name) const {
    return std::any_of(command_.options.begin(), command_.options.end(),
                       [&](const NvccGiven& given) { return is(given, name); });
  }

  // The value that counts.
  std::optional<std::string> last(std::string_view name) const {
    for (auto given = command_.options.rbegin(); given != command_.options.rend(); ++given)
      if (is(*given, name) && !given->values.empty())
        return given->values.back();
    return std::nullopt;
  }

  bool last_is_true(std::string_view name, bool otherwise) const {
    const std::optional<std::string> value = last(name);
    return value ? *value == "true" : otherwise;
  }

  Words all(std::string_view name) const {
    Words values;
    for (const NvccGiven& given : command_.options)
      if (is(given, name))
        append(values, given.values);
    return values;
  }

  Words unknown() const {
    Words words;
    for (const NvccGiven& given : command_.options)
      if (!given.option)
        append(words, given.values);
    return words;
  }

  static bool is(const NvccGiven& given, std::string_view name) {
    return given.option && given.option->short_name == name;
  }

private:
  NvccCommand command_;
};

Error refusal(const std::string& spelling, std::string_view reason) {
  return make_error(ErrorKind::failed, "nvcc " + spelling + ": clang cannot " + std::string(reason));
}

// Words for a tool that nvcc runs. It is one line for the shell that has all parts: quotes may go beyond one.
Result<Words> tool_words(const Asked& asked, std::string_view name) {
  return shell_words(join(asked.all(name), " ")).in("nvcc " + std::string(name));
}

bool is_query(const Asked& asked) {
  for (const char* name : {"-h", "-V", "-code-ls", "-arch-ls", "-dryrun"})
    if (asked.has(name))
      return true;
  return false;
}

// Values that nvcc accepts, or that Clang can follow, for options that have few.
Result<void> check_values(const Asked& asked) {
  const std::map<std::string_view, Words> allowed = {
      {"-cudart", {"none", "shared", "static"}},
      {"-cudadevrt", {"none", "static"}},
      {"-default-stream", {"legacy", "null", "per-thread"}},
      {"-dopt", {"on"}},
      {"-x", {"c", "c++", "cu"}},
      {"-std", {"c++03", "c++11", "c++14", "c++17", "c++20", "c++23"}},
      {"-m", {"64"}},
      {"-device-stack-protector", {"false"}},
  };
  for (const NvccGiven& given : asked.command().options) {
    const auto values = given.option ? allowed.find(given.option->short_name) : allowed.end();
    if (values != allowed.end() &&
        std::find(values->second.begin(), values->second.end(), given.values[0]) == values->second.end())
      return refusal(given.spelling, "follow this value");
  }
  return {};
}

Result<void> check(const Asked& asked) {
  const bool forwards = asked.has("-forward-unknown-opts") ||
                        asked.has("-forward-unknown-to-host-compiler") ||
                        asked.has("-forward-unknown-to-host-linker");
  for (const NvccGiven& given : asked.command().options) {
    if (!given.option && !forwards)
      return make_error(ErrorKind::failed, "nvcc does not know " + given.spelling);
    if (given.option && given.option->use == NvccUse::refused)
      return refusal(given.spelling, given.option->reason);
  }
  if (asked.has("-dc") && asked.has("-dw"))
    return make_error(ErrorKind::failed, "nvcc -dc and -dw exclude each other");
  if (asked.command().inputs.empty())
    return make_error(ErrorKind::failed, "nvcc: there is no input file");
  return check_values(asked);
}

// Other options of the front end than those that steer its messages would change the program.
Result<void> check_front_end(const Asked& asked) {
  XAAS_TRY(const Words words, tool_words(asked, "-Xcudafe"));
  for (const std::string& word : words)
    if (word.starts_with("-") && !word.starts_with("--diag_") &&
        !word.starts_with("--display_error_number") && !word.starts_with("--no_display_error_number") &&
        !word.starts_with("--brief_diagnostics") && !word.starts_with("--error_limit") &&
        word != "--promote_warnings" && word != "--no_warnings" && word != "--remarks" &&
        word != "--wrap_diagnostics")
      return refusal("-Xcudafe " + word, "give nvcc's front end options");
  return {};
}

NvccPhase phase_of(const Asked& asked) {
  if (asked.has("-M") || asked.has("-MM"))
    return NvccPhase::dependencies;
  if (asked.has("-E"))
    return NvccPhase::preprocess;
  if (asked.has("-dlink"))
    return NvccPhase::device_link;
  if (asked.has("-lib"))
    return NvccPhase::archive;
  if (asked.has("-c") || asked.has("-dc") || asked.has("-dw"))
    return NvccPhase::compile;
  return NvccPhase::link;
}

// Clang's name of an input's language; "none" for what is only linked.
Result<std::string> language_of(const std::string& input, const std::optional<std::string>& given) {
  // nvcc's -x is for all inputs, also for objects.
  if (given)
    return *given == "cu" ? std::string("cuda") : *given;
  static const std::map<std::string, std::string> languages = {
      {".cu", "cuda"},
      {".c", "c"},
      {".cc", "c++"},
      {".cpp", "c++"},
      {".cxx", "c++"},
      {".i", "cpp-output"},
      {".ii", "c++-cpp-output"},
      {".s", "assembler"},
      {".S", "assembler-with-cpp"},
      {".o", "none"},
      {".obj", "none"},
      {".a", "none"},
      {".lib", "none"},
      {".so", "none"},
  };
  const std::string extension = fs::path(input).extension().string();
  const auto found = languages.find(extension);
  if (found != languages.end())
    return found->second;
  for (const char* device_code : {".gpu", ".ptx", ".cubin", ".fatbin", ".ltoir"})
    if (extension == device_code)
      return refusal(input, "compile or link device code of nvcc's");
  return make_error(ErrorKind::failed, "nvcc does not know what to do with " + input);
}

struct Inputs {
  Words words; // each with the language before it where that changes
  bool has_cuda = false, has_cxx = false, has_host_source = false;
  size_t sources = 0;
};

Result<Inputs> inputs_of(const Asked& asked) {
  Inputs inputs;
  std::string current = "none";
  for (const std::string& input : asked.command().inputs) {
    XAAS_TRY(const std::string language, language_of(input, asked.last("-x")));
    if (language != current)
      append(inputs.words, {"-x", language});
    current = language;
    inputs.words.push_back(input);
    inputs.has_cuda |= language == "cuda";
    inputs.has_cxx |= language == "cuda" || language == "c++" || language == "c++-cpp-output";
    inputs.has_host_source |= language != "cuda" && language != "none";
    inputs.sources += language != "none";
  }
  return inputs;
}

// Whether an option of the host compiler decides how code is made or what is warned of, so that it is the
// host's alone.
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

// Words of the host compiler, for the sides that they are for. What only a link reads is left out where there
// is none: nvcc's host compiler says nothing of it, Clang warns.
Result<Words> host_compiler_words(const Words& given, bool has_cuda, bool links) {
  Words result;
  for (const DriverOption& each : parse_driver(given)) {
    const llvm::opt::Option option = clang::getDriverOptTable().getOption(each.id);
    const std::string& word = each.word();
    if (each.lacks_value)
      return make_error(ErrorKind::failed,
                        "nvcc -Xcompiler " + word + ": the value of the host compiler's option is missing");
    if (each.id == clang::options::OPT_UNKNOWN)
      return refusal("-Xcompiler " + word, "follow this option of the host compiler");
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

// nvcc's words for the host compiler: first those of -Xcompiler, then those that it does not know itself.
Result<Words> words_for_host(const Asked& asked) {
  XAAS_TRY(Words words, tool_words(asked, "-Xcompiler"));
  if (!asked.has("-forward-unknown-to-host-compiler") && !asked.has("-forward-unknown-opts"))
    return words;
  for (const std::string& word : asked.unknown()) {
    XAAS_TRY(const Words more, shell_words(word).in("nvcc " + word));
    append(words, more);
  }
  return words;
}

Result<Words> host_options(const Asked& asked, const Inputs& inputs, bool links) {
  Words words;
  if (const auto standard = asked.last("-std"); standard && inputs.has_cxx)
    words.push_back("-std=" + *standard);
  XAAS_TRY(const Words given, words_for_host(asked));
  XAAS_TRY(const Words own, host_compiler_words(given, inputs.has_cuda, links));
  append(words, own);
  if (const auto level = asked.last("-O"))
    words.push_back("-O" +
                    (level->size() > 1 || *level > "3" ? "3" : *level)); // above 3 nothing more is done
  for (const auto& [name, word] : {std::pair{"-g", "-g"}, {"-noeh", "-fno-exceptions"}, {"-pg", "-pg"}}) {
    if (!asked.has(name))
      continue;
    if (inputs.has_cuda)
      words.push_back("-Xarch_host");
    words.push_back(word);
  }
  if (asked.has("-w")) // unlike -w it lets later options have their way
    words.push_back("-Wno-everything");
  for (const char* name : {"-ftemplate-depth", "-ftemplate-backtrace-limit"})
    if (const auto limit = asked.last(name))
      words.push_back(std::string(name) + "=" + *limit);
  return words;
}

NvccMath math_of(const Asked& asked) {
  const bool fast = asked.has("-use_fast_math");
  return {.flush_denormals = asked.last_is_true("-ftz", fast),
          .exact_division = asked.last_is_true("-prec-div", !fast),
          .exact_square_root = asked.last_is_true("-prec-sqrt", !fast),
          .contract = asked.last_is_true("-fmad", true)};
}

// Clang's sqrtf is libdevice's, which asks whether it has to be exact, and is told no unless somebody says
// yes.
Words square_root_options(const NvccMath& math, bool approximated_in_ir) {
  if (math.exact_square_root)
    return {"-Xarch_device", "-mllvm=-nvvm-reflect-add=__CUDA_PREC_SQRT=1"};
  if (!approximated_in_ir)
    return {"-Xarch_device", "-mllvm=-nvptx-prec-sqrtf32=0"};
  return {};
}

Words math_options(const Asked& asked, const NvccMath& math) {
  Words words;
  const bool fast = asked.has("-use_fast_math");
  // One flag in the IR for both; where only one is approximated, or without the loss of range that
  // --use_fast_math allows (2: exact, 1: all of the range, 0: fastest), options of the code generator say so.
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

Words device_options(const Asked& asked, const NvccTranslation& translation) {
  Words words;
  const bool for_debugger = asked.has("-G") && !asked.has("-dopt");
  if (for_debugger)
    append(words, {"--cuda-noopt-device-debug", "-Xarch_device", "-g", "-Xarch_device", "-O0"});
  else
    append(words, {"-Xarch_device", "-O3"});
  if (!for_debugger && (asked.has("-lineinfo") || asked.has("-G")))
    append(words, {"-Xarch_device", "-gline-tables-only"});
  append(words, math_options(asked, translation.math));
  words.push_back("-Werror=ignored-attributes"); // __managed__ would be a variable of the host
  if (asked.last("-default-stream") == "per-thread")
    words.push_back("-fgpu-default-stream=per-thread");
  for (const std::string& option : translation.ptxas_options)
    append(words, {"-Xcuda-ptxas", option});
  return words;
}

Result<Words> preprocessor_options(const Asked& asked, const NvccContext& context, const Inputs& inputs) {
  const fs::path& toolkit = context.toolkit;
  Words words;
  if (!context.first_headers.empty() && inputs.has_cuda)
    append(words, {"-iquote", context.first_headers.string()});
  for (const std::string& file : asked.all("-include"))
    append(words, {"-include", file});
  for (const std::string& directory : asked.all("-I"))
    words.push_back("-I" + directory);
  for (const std::string& directory : asked.all("-isystem"))
    append(words, {"-isystem", directory});
  // nvcc has the toolkit's headers for every source, Clang for CUDA only; since CUDA 13 those of CUB and
  // Thrust are in a directory of their own, of which Clang does not know.
  // What defines __CUDACC__ there (CMake's FindCUDA, for the list of a source's headers) makes them refuse
  // host compilers that they do not know.
  if (!toolkit.empty() && inputs.has_host_source)
    append(words, {"-isystem", (toolkit / "include").string(), "-D__NV_NO_HOST_COMPILER_CHECK=1"});
  if (!toolkit.empty() && fs::is_directory(toolkit / "include" / "cccl"))
    append(words, {"-isystem", (toolkit / "include" / "cccl").string()});
  for (const NvccGiven& given : asked.command().options) {
    if (!Asked::is(given, "-D") && !Asked::is(given, "-U"))
      continue;
    for (const std::string& part : given.values) {
      XAAS_TRY(const std::string macro, nvcc_macro(part).in("nvcc " + given.spelling));
      words.push_back(std::string(given.option->short_name) + macro);
    }
  }
  return words;
}

Words dependency_options(const Asked& asked) {
  Words words;
  for (const char* name : {"-M", "-MM", "-MD", "-MMD", "-MP"})
    if (asked.has(name))
      words.push_back(name);
  for (const char* name : {"-MF", "-MT"})
    if (const auto value = asked.last(name))
      append(words, {name, *value});
  return words;
}

// -o, or what -odir makes of it: nvcc's way to say where an object goes without giving its name.
Result<Words> output_options(const Asked& asked, NvccPhase phase, const Inputs& inputs) {
  const auto output = asked.last("-o"), directory = asked.last("-odir");
  const bool names_object = phase == NvccPhase::compile || phase == NvccPhase::dependencies;
  Words words;
  if (directory && !output && names_object) {
    if (inputs.sources != 1)
      return refusal("-odir " + *directory, "name the outputs of several sources");
    const fs::path object =
        fs::path(*directory) / (fs::path(asked.command().inputs[0]).stem().string() + ".o");
    if (phase == NvccPhase::compile)
      append(words, {"-o", object.string()});
    else if (!asked.has("-MT"))
      append(words, {"-MT", object.string()});
  }
  if (output)
    append(words, {"-o", *output});
  return words;
}

Words phase_options(const Asked& asked, const NvccTranslation& translation) {
  Words words;
  switch (translation.phase) {
  case NvccPhase::compile:
    words.push_back("-c");
    break;
  case NvccPhase::preprocess:
    words.push_back("-E");
    if (translation.has_cuda)
      words.push_back("--cuda-device-only"); // what nvcc prints is the device's side
    break;
  case NvccPhase::dependencies:
    if (translation.has_cuda)
      words.push_back("--cuda-host-only"); // one side, one list
    break;
  case NvccPhase::archive:
    words.push_back("--emit-static-lib");
    break;
  case NvccPhase::link:
    if (!asked.has("-nodlink"))
      words.push_back("--offload-link");
    break;
  case NvccPhase::device_link:
    break;
  }
  if (translation.relocatable_device_code)
    words.push_back("-fgpu-rdc");
  return words;
}

// nvcc quotes each word for its shell, so that nothing in it is special, and a `$ORIGIN` arrives.
Result<Words> linker_words(const Asked& asked) {
  Words words;
  for (const std::string& part : asked.all("-Xlinker")) {
    XAAS_TRY(Words pieces, environment_words(part).in("nvcc -Xlinker"));
    for (std::string& piece : pieces) {
      std::erase(piece, '"');
      append(words, {"-Xlinker", piece});
    }
  }
  if (asked.has("-forward-unknown-to-host-linker") || asked.has("-forward-unknown-opts"))
    for (const std::string& word : asked.unknown())
      append(words, {"-Xlinker", word});
  return words;
}

Words runtime_library(const Asked& asked) {
  const std::string kind = asked.last("-cudart").value_or("static");
  if (kind == "none" || asked.has("-r"))
    return {};
  if (kind == "shared")
    return {"-lcudart"};
  return {"-lcudart_static", "-lrt", "-lpthread", "-ldl"};
}

// nvcc puts all inputs and libraries between --start-group and --end-group; lld looks back by itself.
Result<Words> link_options(const Asked& asked, const NvccTranslation& translation, const fs::path& toolkit) {
  Words words;
  if (asked.has("-shared"))
    words.push_back("-shared");
  if (asked.has("-r"))
    append(words, {"-r", "-nostdlib"});
  XAAS_TRY(const Words linker, linker_words(asked));
  append(words, linker);
  for (const std::string& option : translation.nvlink_options)
    append(words, {"-Xoffload-linker", option});
  for (const std::string& directory : asked.all("-L"))
    words.push_back("-L" + directory);
  for (const std::string& library : asked.all("-l"))
    words.push_back("-l" + library);
  if (!toolkit.empty())
    for (const char* directory : {"lib64/stubs", "lib64"})
      words.push_back("-L" + (toolkit / directory).string());
  // The device's part of the run-time library, for kernels that launch kernels.
  if (!toolkit.empty() && !asked.has("-nodlink") && asked.last("-cudadevrt") != "none")
    append(words, {"-Xoffload-linker", (toolkit / "lib64" / "libcudadevrt.a").string()});
  append(words, runtime_library(asked));
  return words;
}

// All but the arguments.
Result<NvccTranslation> facts_of(const Asked& asked, const Inputs& inputs) {
  NvccTranslation translation;
  translation.is_verbose = asked.has("-v");
  translation.phase = phase_of(asked);
  translation.inputs = asked.command().inputs;
  translation.output = asked.last("-o").value_or("");
  translation.has_cuda = inputs.has_cuda;
  XAAS_TRY(NvccArchs archs, nvcc_archs(asked.last("-arch"), asked.all("-code"), asked.all("-gencode")));
  translation.gpu_archs = std::move(archs.archs);
  translation.gpu_codes = std::move(archs.codes);
  translation.relocatable_device_code =
      asked.has("-dc") || (asked.last_is_true("-rdc", false) && !asked.has("-dw"));
  translation.device_lto = archs.device_lto || asked.has("-dlto") || asked.has("-lto");
  translation.math = math_of(asked);
  XAAS_TRY(translation.ptxas_options, tool_words(asked, "-Xptxas"));
  if (const auto registers = asked.last("-maxrregcount"))
    translation.ptxas_options.push_back("-maxrregcount=" + *registers);
  XAAS_TRY(translation.nvlink_options, tool_words(asked, "-Xnvlink"));
  translation.host_compiler = asked.last("-ccbin").value_or("");
  return translation;
}

Result<NvccTranslation> translate(const Asked& asked, const NvccContext& context) {
  const fs::path& toolkit = context.toolkit;
  XAAS_CHECK(check(asked));
  XAAS_CHECK(check_front_end(asked));
  // The inputs of a device link are taken by who links; their kinds do not matter here.
  if (phase_of(asked) == NvccPhase::device_link)
    return facts_of(asked, {});
  XAAS_TRY(const Inputs inputs, inputs_of(asked));
  XAAS_TRY(NvccTranslation translation, facts_of(asked, inputs));
  const bool links = translation.phase == NvccPhase::link;

  Words& words = translation.arguments;
  // A build that was written for nvcc need not hear which of these an invocation has no use for.
  words.push_back("--start-no-unused-arguments");
  if (!toolkit.empty())
    words.push_back("--cuda-path=" + toolkit.string());
  XAAS_TRY(const Words host, host_options(asked, inputs, links));
  append(words, host);
  if (inputs.has_cuda)
    append(words, device_options(asked, translation));
  XAAS_TRY(const Words preprocessor, preprocessor_options(asked, context, inputs));
  append(words, preprocessor);
  append(words, dependency_options(asked));
  append(words, phase_options(asked, translation));
  if (translation.is_verbose)
    words.push_back("-v");
  words.push_back("--end-no-unused-arguments");
  XAAS_TRY(const Words output, output_options(asked, translation.phase, inputs));
  append(words, output);
  append(words, inputs.words);
  if (links) {
    XAAS_TRY(const Words linking, link_options(asked, translation, toolkit));
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
  const Asked asked(std::move(command));
  if (is_query(asked)) {
    NvccTranslation query;
    query.is_query = true;
    return query;
  }
  return translate(asked, context);
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
