// Problem: the functions of a canonical module have no target attributes. They must get those of the target,
// but not all of them the same: resolvers of ifuncs run while the loader starts the program, before anything
// has asked the CPU.
//
// Example: three functions of a module in canonical form, lowered for sapphirerapids.
//
//     define i32 @twice(i32)                                  "target-cpu"="sapphirerapids", its features
//     define double @f(double) "xaas-target"="target:fma"     the same, and fma if the target lacks it
//     define internal ptr @pick()                             "target-cpu"="x86-64": the resolver of an ifunc
//
// A unit that fixes its CPU (-march=haswell) gets that CPU everywhere, even in resolvers.
//
// Approach: FeatureResolver computes the attributes, once for the target and once for the lowest level. If
// wide vectors pass through a resolver's signature, or through a call in it, the resolver also gets the
// feature for their registers, because caller and callee must agree on them.
//
// Rejected: the target's attributes for resolvers, too. On an older CPU the program would end with an illegal
// instruction before the guard (lower/cpu_guard.h) can print which feature is missing.
#include "resolvers.h"

#include <xaas/ir/canonical.h>
#include <xaas/ir/retarget.h>
#include <xaas/ir/vector_returns.h>

#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <map>
#include <set>
#include <tuple>

namespace xaas::ir {

namespace {

// The attributes that follow from the instruction set and a written attribute.
struct Derived {
  TargetAttributes attributes;
  std::optional<VscaleRange> vscale; // for functions with a body
};

Result<Derived> derive(const FeatureResolver& resolver, const std::string& written, Streaming mode) {
  Derived derived;
  XAAS_TRY(derived.attributes, resolver.attributes(written));
  XAAS_TRY(derived.vscale, resolver.vscale_range(written, mode));
  return derived;
}

void set_vscale(llvm::Function& function, const std::optional<VscaleRange>& range) {
  if (range && !function.isDeclaration() && !function.hasFnAttribute(llvm::Attribute::VScaleRange))
    function.addFnAttr(
        llvm::Attribute::getWithVScaleRangeArgs(function.getContext(), range->first, range->second));
}

void set_attributes(llvm::Function& function, const TargetAttributes& attributes) {
  auto set = [&](const char* name, const std::string& value) {
    if (!value.empty())
      function.addFnAttr(name, value);
  };
  set("target-cpu", attributes.cpu);
  set("tune-cpu", attributes.tune);
  set("target-features", attributes.features);
}

// Adds the feature for vectors that pass through the function's signature, or through a call in it, in
// registers that the lowest level lacks. The front end had these registers (fix_vector_returns()), so the
// target has them, too, and the function can use them although it runs before the CPU is known.
std::string with_vector_registers(const std::string& written, const llvm::Function& function) {
  const std::string arch = function.getParent()->getTargetTriple().getArchName().str();
  const std::string feature = target::vector_feature(arch, widest_vector_passed(function));
  if (feature.empty())
    return written;
  return written.empty() ? "target:" + feature : written + "," + feature;
}

} // namespace

Result<void> retarget(llvm::Module& module, const InstructionSet& set, bool cpu_is_fixed,
                      const std::string& source) {
  XAAS_TRY(const FeatureResolver resolver, FeatureResolver::create(set));
  InstructionSet lowest = set;
  if (!cpu_is_fixed && !module.ifunc_empty()) { // GPUs have none, nor levels
    const std::string arch = set.triple.substr(0, set.triple.find('-'));
    const std::vector<std::string> levels = target::isa_levels(arch);
    if (levels.empty())
      return make_error(ErrorKind::integrity, "triple '" + set.triple + "' has no ISA levels");
    lowest.cpu = arch == "x86_64" ? levels.front() : "generic";
    lowest.features.clear();
    lowest.machine.clear();
  }
  XAAS_TRY(const FeatureResolver base, FeatureResolver::create(lowest));
  const std::set<const llvm::Function*> resolvers = resolver_functions(module);

  // Cached, because most functions of a module have the same attribute, or none.
  std::map<std::tuple<bool, std::string, Streaming>, Derived> known;
  for (llvm::Function& function : module) {
    if (function.isIntrinsic() || function.hasFnAttribute("target-cpu"))
      continue;
    if (function.hasFnAttribute(no_target_attribute)) {
      function.removeFnAttr(no_target_attribute);
      continue;
    }
    std::string written = function.getFnAttribute(written_attribute).getValueAsString().str();
    function.removeFnAttr(written_attribute);
    const bool early = resolvers.count(&function) != 0;
    if (early)
      written = with_vector_registers(written, function);
    const std::tuple key(early, written, streaming_mode(function));
    auto found = known.find(key);
    if (found == known.end()) {
      XAAS_TRY(Derived derived, derive(early ? base : resolver, written, streaming_mode(function)));
      found = known.emplace(key, std::move(derived)).first;
    }
    set_attributes(function, found->second.attributes);
    set_vscale(function, found->second.vscale);
  }
  module.setSourceFileName(source);
  return {};
}

Result<void> set_plain_attributes(llvm::Module& module, const InstructionSet& set) {
  XAAS_TRY(const FeatureResolver resolver, FeatureResolver::create(set));
  XAAS_TRY(const TargetAttributes attributes, resolver.attributes(""));
  for (llvm::Function& function : module) {
    if (function.isDeclaration())
      continue;
    if (!function.hasFnAttribute("target-cpu"))
      set_attributes(function, attributes);
    else if (!function.hasFnAttribute("target-features"))
      function.addFnAttr("target-features", ""); // or the link's would be added to those of its CPU
  }
  return {};
}

// Section "llvm.metadata" (of `llvm.used`, for example) addresses the compiler and never reaches an object.
// Arrays of appending linkage (constructors) are not variables either; the back end emits what they stand
// for.
static bool is_in_object(const llvm::GlobalObject& object) {
  return !object.isDeclaration() && !object.hasAvailableExternallyLinkage() &&
         !object.hasAppendingLinkage() && object.getSection() != "llvm.metadata";
}

void keep_sections(llvm::Module& module) {
  llvm::SmallVector<llvm::GlobalValue*> kept;
  for (llvm::GlobalObject& object : module.global_objects())
    if (object.hasSection() && is_in_object(object) && !object.hasLocalLinkage())
      kept.push_back(&object);
  llvm::appendToCompilerUsed(module, kept);
}

} // namespace xaas::ir
