// Problem: a working object should be the same for every level for which its module is. That of a module
// without target attributes and intrinsics is made for the lowest level. One with intrinsics may not compile
// there.
//
// Example: the functions of a module, and what x86-64 must have more.
//
//     always_inline "xaas-target"="target:ssse3" @_mm_abs_epi8       of a header
//     @f                          calls _mm_abs_epi8                 ssse3
//     @g                          calls llvm.x86.sse42.crc32.32.8    crc32
//     "xaas-target"="target:avx2" @h  calls _mm_abs_epi8             nothing: its attribute brings it
//     @i                          calls h                            nothing: h is not inlined
//
// Approach: what Clang checks when it compiles a call (CodeGenFunction::checkTargetFeatures), done again in
// the module. A function needs the features of each intrinsic that it calls, and those of each function that
// is always inlined into it; its own attribute brings some of them. The rest is needed by the module.
//
// Clang's table of builtins has the features. Some intrinsics come from a builtin that Clang translates by
// hand, and have no entry. In Clang's own headers, functions have an attribute for all that they call.
//
// Rejected: the features of the level for which the module was compiled first. Which one is first depends on
// what a cache has, and the object must not.
#include <xaas/ir/canonical.h>
#include <xaas/ir/needed_features.h>

#include <xaas/base/text.h>

#include <clang/Basic/Builtins.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/TargetOptions.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <set>

namespace xaas::ir {

namespace {

using Features = std::set<std::string>;

// `avx512vl,avx512vnni|avxvnni`: one list or the other.
std::vector<std::string> first_alternative(const std::string& required) {
  return split(required.substr(0, required.find('|')), ',');
}

std::map<unsigned, std::vector<std::string>> intrinsics_of_x86() {
  std::map<unsigned, std::vector<std::string>> found;
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine diagnostics(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
                                       new clang::IgnoringDiagConsumer, true);
  clang::TargetOptions target;
  target.Triple = "x86_64-pc-linux-gnu";
  const llvm::IntrusiveRefCntPtr<clang::TargetInfo> info(
      clang::TargetInfo::CreateTargetInfo(diagnostics, target));
  clang::Builtin::Context builtins;
  builtins.InitializeTarget(*info, nullptr);
  unsigned id = clang::Builtin::FirstTSBuiltin;
  for (const clang::Builtin::InfosShard& shard : info->getTargetBuiltins())
    for (size_t i = 0; i < shard.Infos.size(); ++i, ++id)
      if (const unsigned intrinsic =
              llvm::Intrinsic::getIntrinsicForClangBuiltin("x86", builtins.getName(id)))
        found.try_emplace(intrinsic, first_alternative(builtins.getRequiredFeatures(id)));
  for (const unsigned intrinsic : {llvm::Intrinsic::x86_sse_ldmxcsr, llvm::Intrinsic::x86_sse_stmxcsr})
    found.try_emplace(intrinsic, std::vector<std::string>{"sse"});
  return found;
}

// True for a comparison of SSE by a predicate that only AVX has. Clang asks for AVX then, LLVM does not, and
// the CPU would use another one.
bool compares_as_avx(const llvm::CallBase& call) {
  const llvm::StringRef name = call.getCalledFunction()->getName();
  if (!name.starts_with("llvm.x86.sse.cmp.") && !name.starts_with("llvm.x86.sse2.cmp."))
    return false;
  const auto* const predicate = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(call.arg_size() - 1));
  return !predicate || predicate->uge(8);
}

class Needs {
public:
  Needs(const FeatureResolver& resolver, const std::function<bool(const llvm::Function&)>& is_complete)
      : resolver_(resolver), is_complete_(is_complete) {}

  // Sets what a function needs and its attribute does not bring. False if that is not known.
  Result<bool> add(const llvm::Function& function, Features& needed) {
    XAAS_TRY(const OfFunction* const found, of(function));
    needed.insert(found->missing.begin(), found->missing.end());
    return found->known;
  }

private:
  struct OfFunction {
    Features brought; // by its attribute
    Features missing;
    bool known = true;
  };

  Result<const OfFunction*> of(const llvm::Function& function) {
    const auto [found, is_new] = functions_.try_emplace(&function);
    OfFunction& result = found->second; // a map keeps it in place
    if (!is_new)
      return &result; // also in recursion, which is never inlined
    XAAS_TRY(result.brought, features(function.getFnAttribute(written_attribute).getValueAsString().str()));
    if (is_complete_(function))
      return &result;
    Features wanted;
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        XAAS_CHECK(add_call(*call, wanted, result.known));
    XAAS_TRY(const Features lowest, features(""));
    for (const std::string& feature : wanted)
      if (!result.brought.contains(feature) && !lowest.contains(feature))
        result.missing.insert(feature);
    return &result;
  }

  Result<void> add_call(const llvm::CallBase& call, Features& wanted, bool& known) {
    const llvm::Function* const callee = call.getCalledFunction();
    if (!callee)
      return {};
    if (callee->isTargetIntrinsic()) {
      const std::optional<std::vector<std::string>> needed = features_of_intrinsic(callee->getIntrinsicID());
      known &= needed.has_value();
      if (needed)
        wanted.insert(needed->begin(), needed->end());
      if (compares_as_avx(call))
        wanted.insert("avx");
    } else if (call.hasFnAttr(llvm::Attribute::AlwaysInline) && !callee->isDeclaration()) {
      XAAS_TRY(const OfFunction* const inlined, of(*callee));
      wanted.insert(inlined->brought.begin(), inlined->brought.end());
      wanted.insert(inlined->missing.begin(), inlined->missing.end());
      known &= inlined->known;
    }
    return {};
  }

  // Those that a function with this attribute has.
  Result<Features> features(const std::string& written) {
    const auto found = written_.find(written);
    if (found != written_.end())
      return found->second;
    XAAS_TRY(const TargetAttributes attributes, resolver_.attributes(written));
    Features all;
    for (const std::string& feature : split(attributes.features, ','))
      if (feature.starts_with('+'))
        all.insert(feature.substr(1));
    return written_.emplace(written, std::move(all)).first->second;
  }

  const FeatureResolver& resolver_;
  const std::function<bool(const llvm::Function&)>& is_complete_;
  std::map<const llvm::Function*, OfFunction> functions_;
  std::map<std::string, Features> written_;
};

} // namespace

Result<std::optional<std::vector<std::string>>>
needed_features(const llvm::Module& module, const InstructionSet& set,
                const std::function<bool(const llvm::Function&)>& is_complete) {
  XAAS_TRY(const FeatureResolver resolver, FeatureResolver::create(set));
  Needs needs(resolver, is_complete);
  Features needed;
  bool known = true;
  for (const llvm::Function& function : module) {
    XAAS_TRY(const bool of_function, needs.add(function, needed));
    known &= of_function;
  }
  using List = std::optional<std::vector<std::string>>;
  return known ? List(std::in_place, needed.begin(), needed.end()) : List();
}

std::optional<std::vector<std::string>> features_of_intrinsic(unsigned intrinsic) {
  static const std::map<unsigned, std::vector<std::string>> known = intrinsics_of_x86();
  const auto found = known.find(intrinsic);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

} // namespace xaas::ir
