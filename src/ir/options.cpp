// Problem: lowering must use the options of the source's command line that reach code generation, all of
// them, and no others: an option that is lost changes the program, and free text (`-fpass-plugin`, `-mllvm`)
// runs code on the target.
//
// Example: what becomes of some flags.
//
//     -O3                     codegen: OptimizationLevel 3, VectorizeLoop 1, UnrollLoops 1, ...
//     -fno-plt                codegen: NoPLT 1
//     -ffp-contract=fast      language: DefaultFPContractMode 2, which the back end reads
//     -march=haswell -mno-fma the unit's MachineFlags, not an option
//     -Wall, -DNDEBUG         nothing: the front end has used them up
//     -fsanitize=address      refused: the object is carried natively, and reported
//
// Approach: the options of CodeGenOptions.def are carried whole, by name and integer, through Clang's own
// X-macros, so that none is forgotten and those that a later Clang adds are carried, too. Language options
// are carried only if the back end reads them (clang/lib/CodeGen/BackendUtil.cpp, initTargetOptions and the
// pipeline). Members that no table of Clang's lists have a list of ours (option_members.h).
//
// Rejected: the command line as text, because it holds paths and code; all language options, because the
// front end has used them up and they would keep equal objects apart.
#include <xaas/ir/options.h>

#include "option_members.h"
#include "option_stages.h"

#include <clang/Basic/CodeGenOptions.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/TargetOptions.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <llvm/ADT/FloatingPointMode.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace xaas::ir {

namespace {

bool is_transient(std::string_view name) {
  return stage_of(name) == OptionStage::compile;
}

std::map<std::string, int64_t> codegen_fields(const clang::CodeGenOptions& options) {
  std::map<std::string, int64_t> fields;
#define CODEGENOPT(Name, Bits, Default, Compatibility) fields[#Name] = static_cast<int64_t>(options.Name);
#define ENUM_CODEGENOPT(Name, Type, Bits, Default, Compatibility)                                            \
  fields[#Name] = static_cast<int64_t>(options.get##Name());
#include <clang/Basic/CodeGenOptions.def>
  for (const OptionMember& member : codegen_members())
    if (const auto* number = std::get_if<CarriedNumber>(&member.fate))
      fields[member.name] = number->get(options);
  return fields;
}

struct FieldSetter {
  uint64_t limit; // exclusive upper bound of its values
  std::function<void(clang::CodeGenOptions&, int64_t)> set;
};

const std::map<std::string, FieldSetter>& codegen_setters() {
  static const std::map<std::string, FieldSetter> setters = [] {
    std::map<std::string, FieldSetter> all;
#define CODEGENOPT(Name, Bits, Default, Compatibility)                                                       \
  all[#Name] = {uint64_t(1) << (Bits), [](clang::CodeGenOptions& options, int64_t value) {                   \
                  options.Name = static_cast<unsigned>(value) & ((uint64_t(1) << (Bits)) - 1);               \
                }};
#define ENUM_CODEGENOPT(Name, Type, Bits, Default, Compatibility)                                            \
  all[#Name] = {uint64_t(1) << (Bits), [](clang::CodeGenOptions& options, int64_t value) {                   \
                  using namespace clang;                                                                     \
                  options.set##Name(static_cast<decltype(options.get##Name())>(value));                      \
                }};
#include <clang/Basic/CodeGenOptions.def>
    for (const OptionMember& member : codegen_members())
      if (const auto* number = std::get_if<CarriedNumber>(&member.fate))
        all[member.name] = {number->limit, number->set};
    return all;
  }();
  return setters;
}

#define XAAS_LANGUAGE_FIELDS(FIELD)                                                                          \
  FIELD(NoHonorInfs)                                                                                         \
  FIELD(NoHonorNaNs)                                                                                         \
  FIELD(AllowFPReassoc)                                                                                      \
  FIELD(AllowRecip)                                                                                          \
  FIELD(NoSignedZero)                                                                                        \
  FIELD(ApproxFunc)

#define XAAS_LANGUAGE_ENUMS(FIELD)                                                                           \
  FIELD(DefaultFPContractMode, clang::LangOptions::FPM_FastHonorPragmas)                                     \
  FIELD(ThreadModel, clang::LangOptions::ThreadModelKind::Single)

// Retargeting derives function attributes from these again.
#define XAAS_LANGUAGE_VSCALES(FIELD)                                                                         \
  FIELD(VScaleMin)                                                                                           \
  FIELD(VScaleMax)                                                                                           \
  FIELD(VScaleStreamingMin)                                                                                  \
  FIELD(VScaleStreamingMax)

std::map<std::string, int64_t> language_fields(const clang::LangOptions& options) {
  std::map<std::string, int64_t> fields;
#define FIELD(Name) fields[#Name] = static_cast<int64_t>(options.Name);
  XAAS_LANGUAGE_FIELDS(FIELD)
  XAAS_LANGUAGE_VSCALES(FIELD)
#undef FIELD
#define FIELD(Name, Last) fields[#Name] = static_cast<int64_t>(options.get##Name());
  XAAS_LANGUAGE_ENUMS(FIELD)
#undef FIELD
  return fields;
}

std::map<std::string, int64_t> differing(const std::map<std::string, int64_t>& fields,
                                         const std::map<std::string, int64_t>& defaults) {
  std::map<std::string, int64_t> result;
  for (const auto& [name, value] : fields)
    if (defaults.at(name) != value && !is_transient(name))
      result[name] = value;
  return result;
}

template <typename Fate, typename Action> void for_each(const Action& action) {
  for (const auto members : {codegen_members(), language_members(), target_members()})
    for (const OptionMember& member : members)
      if (const auto* fate = std::get_if<Fate>(&member.fate))
        action(member, *fate);
}

// The fate that `is_it` accepts; null if there is none.
template <typename Fate, typename Predicate> const Fate* find_fate(const Predicate& is_it) {
  const Fate* found = nullptr;
  for_each<Fate>([&](const OptionMember& member, const Fate& fate) {
    if (is_it(member, fate))
      found = &fate;
  });
  return found;
}

std::string to_text(llvm::DenormalMode mode) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mode.print(stream);
  return text;
}

void read_denormals(const clang::CodeGenOptions& codegen, UnitOptions& options) {
  for_each<CarriedDenormalMode>([&](const OptionMember& member, const CarriedDenormalMode& carried) {
    if (const llvm::DenormalMode mode = codegen.*carried.field;
        mode.isValid() && mode != llvm::DenormalMode::getIEEE())
      options.text[member.name] = to_text(mode);
  });
}

// Nothing if `name` is not the name of a denormal mode.
std::optional<Result<void>> set_denormals(const std::string& name, const std::string& value,
                                          clang::CodeGenOptions& codegen) {
  const auto* carried = find_fate<CarriedDenormalMode>(
      [&](const OptionMember& member, const CarriedDenormalMode&) { return name == member.name; });
  if (!carried)
    return std::nullopt;
  const llvm::DenormalMode mode = llvm::parseDenormalFPAttribute(value);
  if (!mode.isValid())
    return make_error(ErrorKind::integrity, "option " + name + ": '" + value + "' is not known");
  codegen.*carried->field = mode;
  return Result<void>();
}

bool is_for_gpu(const clang::TargetOptions& target) {
  return target.Triple.starts_with("nvptx64-") || target.Triple.starts_with("amdgcn-");
}

// "-x=true" and "-x" are "-x=1" to LLVM.
std::string with_number(std::string argument) {
  for (const auto& [word, number] : {std::pair("=true", "=1"), std::pair("=false", "=0")})
    if (argument.ends_with(word))
      return argument.substr(0, argument.size() - std::strlen(word)) + number;
  return argument.find('=') == std::string::npos ? argument + "=1" : argument;
}

// Reads the `-mllvm` options that have a typed field; refuses others.
Result<void> read_llvm_options(const std::vector<std::string>& arguments, UnitOptions& options) {
  for (const std::string& given : arguments) {
    if (given == "-enable-memcpyopt-without-libcalls") // of every CUDA compile; lowering sets it itself
      continue;
    const std::string argument = with_number(given);
    const GpuOption* known = nullptr;
    for (const GpuOption& option : gpu_options())
      if (argument.size() == std::strlen(option.prefix) + 1 && argument.starts_with(option.prefix) &&
          argument.back() >= '0' && argument.back() <= '0' + option.largest)
        known = &option;
    if (!known)
      return make_error(ErrorKind::failed, "-mllvm options");
    options.gpu[known->name] = argument.back() - '0';
  }
  return {};
}

// Refuses options that would read files or run code during lowering, or that produce something other than an
// object.
Result<void> check_supported(const clang::CompilerInvocation& invocation) {
  const clang::CodeGenOptions& codegen = invocation.getCodeGenOpts();
  const clang::LangOptions& language = invocation.getLangOpts();
  const clang::TargetOptions& target = invocation.getTargetOpts();
  auto refuse = [](const std::string& what) { return make_error(ErrorKind::failed, what); };
  if (const auto* refused = find_fate<Refused>(
          [&](const OptionMember&, const Refused& each) { return each.is_set(invocation); }))
    return refuse(refused->what);
  if (codegen.hasProfileClangInstr() || codegen.hasProfileIRInstr())
    return refuse("profile instrumentation");
  if (codegen.BBSections.starts_with("list="))
    return refuse("-fbasic-block-sections=list");
  // Clang's own actions embed the bitcode before they call the back end.
  if (codegen.getEmbedBitcode() != clang::CodeGenOptions::Embed_Off)
    return refuse("bitcode embedded in the object (-fembed-bitcode)");
  if (language.HIPStdPar)
    return refuse("parallel algorithms of C++ on GPUs (--hipstdpar)");
  if (language.SYCLIsDevice || (language.OpenCL && !is_for_gpu(target)))
    return refuse("device code");
  if (codegen.DisableIntegratedAS && !is_for_gpu(target)) // whose code is text anyway
    return refuse("an external assembler (-no-integrated-as)");
  return {};
}

} // namespace

const std::vector<GpuOption>& gpu_options() {
  static const std::vector<GpuOption> options = {{"PrecSqrt", "-nvvm-reflect-add=__CUDA_PREC_SQRT=", 1},
                                                 {"PrecSqrtF32", "-nvptx-prec-sqrtf32=", 1},
                                                 {"PrecDivF32", "-nvptx-prec-divf32=", 2},
                                                 {"CodeObjectVersion", "--amdhsa-code-object-version=", 6},
                                                 {"InternalizeSymbols", "-amdgpu-internalize-symbols=", 1},
                                                 {"EarlyInlineAll", "-amdgpu-early-inline-all=", 1},
                                                 {"FunctionCalls", "-amdgpu-function-calls=", 1}};
  return options;
}

bool is_amdgpu_option(const std::string& argument) {
  return argument.starts_with("-amdgpu-") || argument.starts_with("--amdgpu-") ||
         argument.starts_with("--amdhsa-code-object-version=");
}

Result<UnitOptions> options_of(const clang::CompilerInvocation& invocation) {
  clang::CompilerInvocation copy(invocation);
  clang::CodeGenOptions& codegen = copy.getCodeGenOpts();
  XAAS_CHECK(check_supported(copy));
  clang::CompilerInvocation plain;
  plain.getCodeGenOpts().LargeDataThreshold = 0; // Clang leaves it uninitialized
  UnitOptions options;
  options.codegen = differing(codegen_fields(codegen), codegen_fields(plain.getCodeGenOpts()));
  options.language = differing(language_fields(copy.getLangOpts()), language_fields(plain.getLangOpts()));
  for_each<CarriedText>([&](const OptionMember&, const CarriedText& carried) {
    if (const std::string& value = carried.of(copy); !value.empty())
      options.text[carried.key] = value;
  });
  for_each<CarriedList>([&](const OptionMember& member, const CarriedList& carried) {
    if (const std::vector<std::string>& value = carried.of(codegen); !value.empty())
      options.lists[member.name] = value;
  });
  if (is_for_gpu(copy.getTargetOpts())) {
    read_denormals(codegen, options);
    XAAS_CHECK(read_llvm_options(copy.getFrontendOpts().LLVMArgs, options));
  }
  return options;
}

static Result<void> set_language_field(const std::string& name, int64_t value, clang::LangOptions& options) {
  const Error range = make_error(ErrorKind::integrity, "language option " + name + ": " +
                                                           std::to_string(value) + " is out of range");
#define FIELD(Name)                                                                                          \
  if (name == #Name) {                                                                                       \
    if (value < 0 || value > 1)                                                                              \
      return range;                                                                                          \
    options.Name = value != 0;                                                                               \
    return {};                                                                                               \
  }
  XAAS_LANGUAGE_FIELDS(FIELD)
#undef FIELD
  constexpr int64_t longest_vector = 16; // of 2048 bits
#define FIELD(Name)                                                                                          \
  if (name == #Name) {                                                                                       \
    if (value < 0 || value > longest_vector)                                                                 \
      return range;                                                                                          \
    options.Name = static_cast<unsigned>(value);                                                             \
    return {};                                                                                               \
  }
  XAAS_LANGUAGE_VSCALES(FIELD)
#undef FIELD
#define FIELD(Name, Last)                                                                                    \
  if (name == #Name) {                                                                                       \
    if (value < 0 || value > static_cast<int64_t>(Last))                                                     \
      return range;                                                                                          \
    options.set##Name(static_cast<decltype(options.get##Name())>(value));                                    \
    return {};                                                                                               \
  }
  XAAS_LANGUAGE_ENUMS(FIELD)
#undef FIELD
  return make_error(ErrorKind::integrity, "language option " + name + " is not known");
}

// LLVM treats any other name as a programming error.
static Result<void> check_names(clang::CodeGenOptions& codegen) {
  if (codegen.CodeModel.empty())
    codegen.CodeModel = "default";
  for (const char* known : {"default", "tiny", "small", "kernel", "medium", "large"})
    if (codegen.CodeModel == known)
      return {};
  return make_error(ErrorKind::integrity, "option CodeModel: '" + codegen.CodeModel + "' is not known");
}

Result<void> apply_options(const UnitOptions& options, clang::CompilerInvocation& invocation) {
  clang::CodeGenOptions& codegen = invocation.getCodeGenOpts();
  codegen.LargeDataThreshold = 0;
  for (const auto& [name, value] : options.codegen) {
    const auto setter = codegen_setters().find(name);
    if (setter == codegen_setters().end() || is_transient(name))
      return make_error(ErrorKind::integrity, "code-generation option " + name + " is not known");
    if (value < 0 || static_cast<uint64_t>(value) >= setter->second.limit)
      return make_error(ErrorKind::integrity,
                        "code-generation option " + name + ": " + std::to_string(value) + " is out of range");
    setter->second.set(codegen, value);
  }
  for (const auto& [name, value] : options.language)
    XAAS_CHECK(set_language_field(name, value, invocation.getLangOpts()));
  for (const auto& [name, value] : options.text) {
    if (const auto set = set_denormals(name, value, codegen)) {
      XAAS_CHECK(*set);
      continue;
    }
    const auto* carried = find_fate<CarriedText>(
        [&](const OptionMember&, const CarriedText& each) { return name == each.key; });
    if (!carried)
      return make_error(ErrorKind::integrity, "option " + name + " is not known");
    carried->of(invocation) = value;
  }
  for (const auto& [name, value] : options.lists) {
    const auto* carried = find_fate<CarriedList>(
        [&](const OptionMember& member, const CarriedList&) { return name == member.name; });
    if (!carried)
      return make_error(ErrorKind::integrity, "option " + name + " is not known");
    carried->of(codegen) = value;
  }
  for (const auto& [name, value] : options.gpu) {
    constexpr int64_t last_version = 999'990, levels = 3, registers = 255;
    const std::pair<std::string_view, int64_t> others[] = {
        {cuda_version, last_version}, {ptxas_level, levels}, {ptxas_debug, 1}, {ptxas_registers, registers}};
    if (std::any_of(std::begin(others), std::end(others), [&](const auto& other) {
          return name == other.first && value >= 0 && value <= other.second;
        }))
      continue;
    const auto known = std::find_if(gpu_options().begin(), gpu_options().end(),
                                    [&](const GpuOption& option) { return name == option.name; });
    if (known == gpu_options().end() || value < 0 || value > known->largest)
      return make_error(ErrorKind::integrity, "GPU option " + name + ": " + std::to_string(value) +
                                                  " is not known or out of range");
  }
  XAAS_CHECK(check_names(codegen));
  return check_supported(invocation);
}

} // namespace xaas::ir
