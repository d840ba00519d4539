// Problem: an application is built once per configuration, and most units come out the same but for
// attributes and metadata that lowering sets anew. These units should share one IR module. Everything else,
// down to one flag, may change the program and must keep modules apart.
//
// Example: three sources, built for x86-64, x86-64-v3 and x86-64-v4.
//
//     int twice(int a) { return 2 * a; }
//     __attribute__((target("fma"))) double f(double a) { return a * a + a; }
//     typedef float v8 __attribute__((vector_size(32))); v8 twice8(v8 *a) { return *a + *a; }
//
// Clang emits `twice` with "target-cpu"="x86-64-v3" and "target-features"="+avx,+avx2,..." for the second
// level. Both follow from -march, so they are dropped, as are the source file name and Clang's version, and
// all three levels share one module. `f` has other features than `twice`. They follow from -march and the
// written attribute, so "xaas-target"="target:fma" replaces them, and this module is shared, too. `twice8`
// returns two registers at the first level and one at the others (vector_returns.h): two modules.
//
// Approach: remove exactly what retarget() or the caller derives again from the unit, after checking that it
// can be derived: the attribute is computed from the flags again (features.h) and must equal the one that
// Clang wrote. An attribute that differs stays, and keeps modules apart. Equality of the remaining bitcode
// then decides.
//
// Rejected: comparing preprocessed text, because the front end reads target features (`twice8`); editing
// feature strings, because no difference of two strings tells which features the source wrote (features.cpp).
#include <xaas/ir/back_ends.h>
#include <xaas/ir/canonical.h>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Frontend/OpenMP/OMPConstants.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <set>

namespace xaas::ir {

namespace {

// The assembler would read the file when the module is lowered: on the target, which has another file of that
// name or none.
bool names_a_file(llvm::StringRef assembly) {
  return assembly.contains_insensitive(".incbin") || assembly.contains_insensitive(".include");
}

// True for an instruction, optionally after numeric labels, for a comment, and for nothing.
bool is_instruction(llvm::StringRef statement) {
  const auto word_of = [](llvm::StringRef text) {
    return text.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '@'; });
  };
  statement = statement.trim();
  for (;;) {
    const llvm::StringRef word = word_of(statement);
    const llvm::StringRef rest = statement.drop_front(word.size()).ltrim();
    if (!rest.starts_with(":"))
      break;
    if (word.empty() || !llvm::all_of(word, llvm::isDigit))
      return false; // a symbol: inlining or importing its function would define it twice
    statement = rest.drop_front().ltrim();
  }
  const bool assigns = statement.drop_front(word_of(statement).size()).ltrim().starts_with("=");
  return statement.empty() || statement.front() == '#' || (llvm::isAlpha(statement.front()) && !assigns);
}

// True if the text is instructions alone, whatever operands are substituted. Other line endings, and comments
// that could hide them, are refused.
bool has_only_instructions(llvm::StringRef assembly) {
  const auto is_plain = [](char c) { return c == '\n' || c == '\t' || (c >= ' ' && c != 127); };
  if (!llvm::all_of(assembly, is_plain) || assembly.contains("/*"))
    return false;
  llvm::SmallVector<llvm::StringRef> statements;
  llvm::SplitString(assembly, statements, "\n;");
  return llvm::all_of(statements, is_instruction);
}

// True if `accepts` is true for all inline assembly of the module.
bool all_assembly(const llvm::Module& module, llvm::function_ref<bool(llvm::StringRef)> accepts) {
  if (!accepts(module.getModuleInlineAsm()))
    return false;
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
          if (!accepts(assembly->getAsmString()))
            return false;
  return true;
}

} // namespace

Result<void> check_assembly(const llvm::Module& module) {
  if (all_assembly(module, [](llvm::StringRef assembly) { return !names_a_file(assembly); }))
    return {};
  return make_error(ErrorKind::failed, "inline assembly that reads a file (.incbin, .include)");
}

bool has_assembly(const llvm::Module& module) {
  return !all_assembly(module, [](llvm::StringRef assembly) { return assembly.trim().empty(); });
}

bool only_instructions(const llvm::Module& module) {
  return all_assembly(module, has_only_instructions);
}

bool suits_lto(const llvm::Module& module) {
  constexpr uint64_t wchar_size = 4; // on all targets; a link refuses units that differ
  const auto* own = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag("wchar_size"));
  // LLVM's whole-program analysis crashes on an ifunc that other objects can see, because summaries have no
  // ifuncs.
  return module.ifuncs().empty() && only_instructions(module) && (!own || own->equalsInt(wchar_size));
}

namespace {

TargetAttributes attributes_of(const llvm::Function& function) {
  auto text = [&](const char* name) { return function.getFnAttribute(name).getValueAsString().str(); };
  return {text("target-cpu"), text("tune-cpu"), text("target-features")};
}

// The attributes that the front end gives a function with this written attribute.
using EmittedTarget = std::function<Result<TargetAttributes>(const std::string& written)>;

// The length of scalable vectors follows from the features, too. Clang gives the attribute to functions with
// a body, except to the few that it generates itself (__clang_call_terminate), which do not use it.
Result<void> canonicalize_vscale(llvm::Function& function, const FeatureResolver& emitted,
                                 const std::string& written) {
  const llvm::Attribute found = function.getFnAttribute(llvm::Attribute::VScaleRange);
  if (!found.isValid())
    return {};
  XAAS_TRY(const std::optional<VscaleRange> derived, emitted.vscale_range(written, streaming_mode(function)));
  if (derived && derived->first == found.getVScaleRangeMin() && derived->second == found.getVScaleRangeMax())
    function.removeFnAttr(llvm::Attribute::VScaleRange);
  return {};
}

// Replaces the target attributes of one function by the written attribute that they are derived from. Returns
// false if they cannot be derived.
Result<bool> canonicalize_attributes(llvm::Function& function, const EmittedTarget& emitted,
                                     const FeatureResolver& resolver, const WrittenTarget& written) {
  const TargetAttributes found = attributes_of(function);
  if (found == TargetAttributes()) {
    function.addFnAttr(no_target_attribute);
    return true;
  }
  const std::string source = written(function);
  if (source == "other")
    return false;
  XAAS_TRY(const TargetAttributes derived, emitted(source));
  if (!(derived == found))
    return false;
  for (const char* name : {"target-cpu", "tune-cpu", "target-features"})
    function.removeFnAttr(name);
  if (!source.empty())
    function.addFnAttr(written_attribute, source);
  XAAS_CHECK(canonicalize_vscale(function, resolver, source));
  return true;
}

const std::set<std::string>& openmp_functions() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
#define OMP_RTL(Enum, Name, ...) all.insert(Name);
#include <llvm/Frontend/OpenMP/OMPKinds.def>
    return all;
  }();
  return names;
}

// The flag enables LLVM's OpenMP optimizer, which acts on functions that it knows by name. In a module that
// names none of them the flag changes nothing. Without it, the module is the same with and without -fopenmp.
void drop_idle_openmp_flag(llvm::Module& module) {
  llvm::NamedMDNode* flags = module.getModuleFlagsMetadata();
  if (!flags)
    return;
  for (const llvm::Function& function : module)
    if (openmp_functions().count(function.getName().str()))
      return;
  std::vector<llvm::MDNode*> kept;
  for (llvm::MDNode* flag : flags->operands())
    if (const auto* name = llvm::dyn_cast<llvm::MDString>(flag->getOperand(1));
        !name || name->getString() != "openmp")
      kept.push_back(flag);
  if (kept.size() == flags->getNumOperands())
    return;
  flags->clearOperands();
  for (llvm::MDNode* flag : kept)
    flags->addOperand(flag);
}

void drop_derived_metadata(llvm::Module& module) {
  if (llvm::NamedMDNode* ident = module.getNamedMetadata("llvm.ident"))
    module.eraseNamedMetadata(ident);
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm())
        instruction.setMetadata("srcloc", nullptr);
  drop_idle_openmp_flag(module);
  module.setSourceFileName("");
}

} // namespace

Streaming streaming_mode(const llvm::Function& function) {
  if (function.hasFnAttribute("aarch64_pstate_sm_enabled") ||
      function.hasFnAttribute("aarch64_pstate_sm_body"))
    return Streaming::yes;
  return function.hasFnAttribute("aarch64_pstate_sm_compatible") ? Streaming::compatible : Streaming::no;
}

// LLVM writes some IR that it cannot read back (vectors of bool in some places). Such a module works only in
// the process that made it.
static Result<void> check_reads_back(const std::string& bitcode) {
  llvm::LLVMContext context;
  context.setDiagnosticHandlerCallBack([](const llvm::DiagnosticInfo*, void*) {});
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, ""), context);
  const auto refuse = [](const std::string& why) {
    return make_error(ErrorKind::failed, "IR that LLVM cannot read back: " + why);
  };
  if (!module)
    return refuse(llvm::toString(module.takeError()));
  std::string malformed;
  llvm::raw_string_ostream stream(malformed);
  if (llvm::verifyModule(**module, &stream))
    return refuse(malformed.substr(0, malformed.find('\n')));
  return {};
}

static Result<CanonicalModule> canonicalize_with(llvm::Module& module, const EmittedTarget& emitted,
                                                 const FeatureResolver& resolver,
                                                 const WrittenTarget& written) {
  XAAS_CHECK(check_assembly(module));
  CanonicalModule result;
  for (llvm::Function& function : module) {
    if (function.isIntrinsic())
      continue;
    XAAS_TRY(const bool derived, canonicalize_attributes(function, emitted, resolver, written));
    if (!derived)
      ++result.fixed_functions;
  }
  drop_derived_metadata(module);
  initialize_back_ends(); // the writer's symbol table has the names of assembly if there is a parser for it
  llvm::raw_string_ostream stream(result.bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  XAAS_CHECK(check_reads_back(result.bitcode));
  result.digest = digest_of(result.bitcode);
  return result;
}

Result<CanonicalModule> canonicalize(llvm::Module& module, const FeatureResolver& emitted,
                                     const WrittenTarget& written) {
  return canonicalize_with(
      module, [&](const std::string& source) { return emitted.attributes(source); }, emitted, written);
}

Result<CanonicalModule> canonicalize(llvm::Module& module, const TargetAttributes& emitted,
                                     const FeatureResolver& resolver) {
  return canonicalize_with(
      module, [&](const std::string&) { return Result<TargetAttributes>(emitted); }, resolver,
      [](const llvm::Function&) { return std::string(); });
}

static bool has_immediate_operand(const llvm::CallBase& call) {
  const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  if (!assembly)
    return false;
  unsigned argument = 0;
  for (const llvm::InlineAsm::ConstraintInfo& constraint : assembly->ParseConstraints()) {
    if (!constraint.hasArg())
      continue;
    const bool immediate = constraint.Type == llvm::InlineAsm::isInput && !constraint.Codes.empty() &&
                           constraint.Codes[0].find_first_of("inIJKLMNOe") != std::string::npos;
    if (immediate && argument < call.arg_size() && !llvm::isa<llvm::Constant>(call.getArgOperand(argument)))
      return true;
    ++argument;
  }
  return false;
}

// An inline definition of C99 may be the only one. An inline definition of C++ never is (its template is
// instantiated elsewhere), and a function that is always inlined leaves no call.
static bool may_lack_definition(const llvm::Function& function) {
  return function.hasAvailableExternallyLinkage() && !function.use_empty() &&
         !function.hasFnAttribute(llvm::Attribute::AlwaysInline) && !function.getName().starts_with("_Z");
}

// In C, __builtin_constant_p guards calls of functions that are nowhere defined. In C++, the standard library
// uses it in most units to choose between two definitions (std::char_traits). If a C++ unit needs it for
// more, its link fails.
static bool asks_for_constants(const llvm::Function& function) {
  return function.getIntrinsicID() == llvm::Intrinsic::is_constant &&
         llvm::any_of(function.users(), [](const llvm::User* user) {
           const auto* call = llvm::dyn_cast<llvm::Instruction>(user);
           return !call || !call->getFunction()->getName().starts_with("_Z");
         });
}

bool needs_optimization(const llvm::Module& module,
                        const std::function<bool(const llvm::Function&)>& of_system) {
  for (const llvm::Function& function : module) {
    if ((may_lack_definition(function) && !of_system(function)) || asks_for_constants(function))
      return true;
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
          call && has_immediate_operand(*call))
        return true;
  }
  return false;
}

} // namespace xaas::ir
