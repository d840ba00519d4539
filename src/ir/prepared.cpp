// Problem: the first half of the optimizer (inlining, simplification) does not depend on the machine, and
// every deploy repeats it. It can run once, in the build. But passes ask the functions' target attributes,
// which canonical form does not have, and copy them to the functions that they make; and the prepared module
// must be retargetable like the one that it was made from.
//
// Example: a function of a canonical module, and what becomes of its attributes.
//
//     canonical        "xaas-target"="target:fma"
//     noted            "xaas-target"="target:fma" "xaas-noted"="target:fma"
//     retargeted       "target-cpu"="x86-64" "target-features"="+fma,..."  "xaas-noted"="target:fma"
//     after passes     the same, and a copy of the function has the same note
//     restored         "xaas-target"="target:fma"
//
// Approach: a note on each function whose attributes retarget() derives. Passes carry it along, because they
// copy unknown attributes. Declarations that passes add (library functions) have no target attributes, and
// retarget() must not give them any.
//
// A module is prepared for one fixed level and not for the levels that share it: which levels these are
// depends on what else was built, and `merge` must give the modules of one build. The level is
// target::common_level(), so simplification decides by the costs of common machines. For plain x86-64, for
// example, it keeps loops that count bits, because there is no instruction for that.
//
// The code is right for lower levels, too. Simplification makes nothing that they lack, with one exception:
// the inliner compares features. A function with a `target` attribute runs only after its caller has asked
// the CPU. At x86-64-v3 the caller may have the same features, and the function is inlined; lowered for
// x86-64, its instructions are then in a function that lacks them. Modules with such functions are prepared
// for the lowest level. Functions that are always inlined (intrinsics) do not count: Clang has checked their
// callers, and the inliner does not compare.
//
// The cut is where LLVM's own pipeline for one module has it: the first half is its simplification, the
// second its optimization, with vectorization and unrolling. So the code is Clang's, byte for byte, for the
// level that the module was prepared for; stored bitcode keeps the order of uses, which passes follow. For
// other targets, only what simplification decides by the costs of instructions can differ.
//
// Rejected: ThinLTO's pre-link pipeline as the first half. Its other half simplifies the module a second
// time, which takes most of what preparing saves, and the code is not that of a plain compile. Rejected:
// removing target attributes from all functions, because those that canonical form keeps (its header says
// which) would be lost; remembering functions by name, because passes rename, copy and outline.
#include <xaas/ir/canonical.h>
#include <xaas/ir/prepared.h>
#include <xaas/ir/vector_returns.h>

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace xaas::ir {

// The function's written attribute; `plain_mark` if Clang gave it no target attributes. A function with a
// range of vscale of its own has the second note, too.
static constexpr const char* noted_attribute = "xaas-noted";
static constexpr const char* noted_vscale = "xaas-noted-vscale";
static constexpr const char* plain_mark = "plain";

static bool has_features_of_its_own(const llvm::Function& function) {
  return !function.isDeclaration() && !function.hasFnAttribute(llvm::Attribute::AlwaysInline) &&
         (function.hasFnAttribute(written_attribute) || function.hasFnAttribute("target-cpu"));
}

Result<target::Cpu> preparation_cpu(const llvm::Module& module, const std::string& arch) {
  uint64_t widest = 0;
  for (const llvm::Function& function : module)
    if (!function.isIntrinsic())
      widest = std::max(widest, widest_vector_passed(function));
  const std::string feature = target::vector_feature(arch, widest);
  const std::vector<std::string> levels = target::isa_levels(arch);
  auto level = levels.begin();
  if (std::none_of(module.begin(), module.end(), has_features_of_its_own))
    level = std::find(levels.begin(), levels.end(), target::common_level(arch));
  for (; level != levels.end(); ++level) {
    XAAS_TRY(target::Cpu cpu, target::cpu_by_name(arch, *level));
    if (feature.empty() || std::binary_search(cpu.features.begin(), cpu.features.end(), feature))
      return cpu;
  }
  return make_error(ErrorKind::integrity,
                    "no ISA level of '" + arch + "' has vectors of " + std::to_string(widest) + " bits");
}

void note_targets(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isIntrinsic() || function.hasFnAttribute("target-cpu"))
      continue;
    const bool has_none = function.hasFnAttribute(no_target_attribute);
    function.addFnAttr(noted_attribute,
                       has_none ? plain_mark : function.getFnAttribute(written_attribute).getValueAsString());
    if (function.hasFnAttribute(llvm::Attribute::VScaleRange))
      function.addFnAttr(noted_vscale);
  }
}

void restore_targets(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isIntrinsic())
      continue;
    if (!function.hasFnAttribute(noted_attribute)) {
      if (!function.hasFnAttribute("target-cpu"))
        function.addFnAttr(no_target_attribute);
      continue;
    }
    const std::string written = function.getFnAttribute(noted_attribute).getValueAsString().str();
    const bool has_own_vscale = function.hasFnAttribute(noted_vscale);
    function.removeFnAttr(noted_attribute);
    function.removeFnAttr(noted_vscale);
    if (written == plain_mark) {
      function.addFnAttr(no_target_attribute);
      continue;
    }
    for (const char* derived : {"target-cpu", "tune-cpu", "target-features"})
      function.removeFnAttr(derived);
    if (!has_own_vscale)
      function.removeFnAttr(llvm::Attribute::VScaleRange);
    if (!written.empty())
      function.addFnAttr(written_attribute, written);
  }
}

} // namespace xaas::ir
