// Problem: front ends that are not Clang's hand their IR to `cc -c`, as text or bitcode. It says less than
// Clang's own: often no target, no data layout and no target attributes, and where it has attributes, nothing
// tells which of them the author wanted.
//
// Example: functions of a module, and what their attributes mean.
//
//     @gemm                                     open: the target decides, as -march would
//     @axpy  "target-cpu"="x86-64"              open: rustc and Clang write their default so
//     @fast  "target-features"="+avx512f"       as C's __attribute__((target("avx512f")))
//     @old   "target-cpu"="nehalem"             kept as it is
//
// Approach: a function gets the attributes that Clang would give it for this command, so that canonical form
// drops them and deploying decides. A module without triple or data layout gets those of the image. Vendors
// of triples are ignored, because they mean nothing on Linux and every front end has another one.
//
// Vectors wider than 128 bits that a function of other units takes or returns by value are refused: their
// registers depend on the target, and a caller in C or in assembly has decided on them before.
//
// Rejected: dropping all target attributes, because a function with intrinsics of AVX-512 needs its own;
// running `opt` first, because the module is lowered like any other.
#include "llvm_ir/compile.h"
#include "c/frontend.h"
#include "debug_metadata.h"
#include "other_levels.h"
#include "standard_input.h"

#include <xaas/base/text.h>

#include <clang/Frontend/CompilerInvocation.h>
#include <llvm/IR/AutoUpgrade.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/TargetParser/Triple.h>

#include <map>

namespace xaas::frontdoor {

namespace {

constexpr unsigned widest_of_every_level = 128; // bits of a vector register

bool passes_wide_vector(const llvm::Type* type) {
  if (type->isVectorTy())
    return type->isScalableTy() || type->getPrimitiveSizeInBits().getFixedValue() > widest_of_every_level;
  return !type->isPointerTy() && llvm::any_of(type->subtypes(), passes_wide_vector);
}

// True for functions that other units define or call.
bool is_shared(const llvm::Function& function) {
  return !function.isIntrinsic() && (function.isDeclaration() || !function.hasLocalLinkage());
}

std::string wide_function(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (is_shared(function) && passes_wide_vector(function.getFunctionType()))
      return function.getName().str();
  return {};
}

// Makes triple and data layout those of the unit. Returns what does not fit.
std::string fit_target(llvm::Module& module, const clang::TargetOptions& options) {
  const llvm::Triple own(options.Triple);
  const llvm::Triple given(llvm::Triple::normalize(module.getTargetTriple().str()));
  if (!module.getTargetTriple().str().empty() &&
      (given.getArch() != own.getArch() || given.getOS() != own.getOS() ||
       given.getEnvironment() != own.getEnvironment()))
    return "IR for " + module.getTargetTriple().str() + ", not " + own.str();
  const llvm::DataLayout layout(own.computeDataLayout(options.ABI));
  // Front ends on an older LLVM write what was the layout then. LLVM's reader upgrades it in bitcode alone.
  const llvm::DataLayout upgraded(llvm::UpgradeDataLayoutString(module.getDataLayoutStr(), options.Triple));
  if (!module.getDataLayoutStr().empty() && upgraded != layout)
    return "IR with the data layout " + module.getDataLayoutStr() + ", not that of " + own.str();
  module.setTargetTriple(own);
  module.setDataLayout(layout);
  return {};
}

ir::TargetAttributes attributes_of(const llvm::Function& function) {
  const auto text = [&](const char* name) { return function.getFnAttribute(name).getValueAsString().str(); };
  return {text("target-cpu"), text("tune-cpu"), text("target-features")};
}

// What the target attributes of functions mean for deploying.
class Attributes {
public:
  static Result<Attributes> create(const clang::TargetOptions& options) {
    ir::InstructionSet set{options.Triple,
                           options.ABI,
                           options.FPMath,
                           options.CPU,
                           options.TuneCPU,
                           options.FeaturesAsWritten,
                           {},
                           {}};
    XAAS_TRY(ir::FeatureResolver emitted, ir::FeatureResolver::create(set));
    set.cpu = llvm::Triple(options.Triple).isX86() ? "x86-64" : "generic";
    set.tune.clear();
    set.features.clear();
    XAAS_TRY(const ir::FeatureResolver lowest, ir::FeatureResolver::create(set));
    XAAS_TRY(ir::TargetAttributes baseline, lowest.attributes(""));
    return Attributes(std::move(emitted), std::move(baseline));
  }

  Result<ir::CanonicalModule> canonicalize(llvm::Module& module) const {
    std::map<const llvm::Function*, std::string> written;
    for (llvm::Function& function : module) {
      if (function.isIntrinsic())
        continue;
      XAAS_TRY(written[&function], unify(function));
    }
    return ir::canonicalize(module, emitted_,
                            [&](const llvm::Function& function) { return written.at(&function); });
  }

private:
  Attributes(ir::FeatureResolver emitted, ir::TargetAttributes baseline)
      : emitted_(std::move(emitted)), baseline_(std::move(baseline)) {}

  // Gives a function the attributes that Clang derives from the written attribute that is the result, for
  // canonical form to drop. "other": it keeps its own.
  Result<std::string> unify(llvm::Function& function) const {
    const ir::TargetAttributes found = attributes_of(function);
    XAAS_TRY(const ir::TargetAttributes open, emitted_.attributes(""));
    std::string written;
    ir::TargetAttributes derived = open;
    if (found != open) {
      const bool lowest = (found.cpu.empty() || found.cpu == baseline_.cpu) &&
                          (found.tune.empty() || found.tune == "generic" || found.tune == baseline_.cpu);
      written = lowest ? written_for(found.features) : "other";
      if (written != "other" && !written.empty()) {
        const Result<ir::TargetAttributes> known = emitted_.attributes(written);
        if (known)
          derived = *known;
        else
          written = "other"; // a feature that only LLVM knows
      }
    }
    if (written == "other") {
      if (found.cpu.empty()) // which the target's would replace
        function.addFnAttr("target-cpu", baseline_.cpu);
      return written;
    }
    for (const auto& [name, value] :
         {std::pair{"target-cpu", derived.cpu}, std::pair{"tune-cpu", derived.tune},
          std::pair{"target-features", derived.features}}) {
      function.removeFnAttr(name);
      if (!value.empty())
        function.addFnAttr(name, value);
    }
    return written;
  }

  // The attribute of C that adds and removes these features.
  std::string written_for(const std::string& features) const {
    const std::vector<std::string> usual = split(baseline_.features, ',');
    std::vector<std::string> words;
    for (const std::string& feature : split(features, ','))
      if (feature.size() > 1 && !llvm::is_contained(usual, feature))
        words.push_back((feature[0] == '-' ? "no-" : "") + feature.substr(1));
    return words.empty() ? "" : "target:" + join(words, ",");
  }

  ir::FeatureResolver emitted_;
  ir::TargetAttributes baseline_;
};

// Names of values mean nothing to LLVM, and the other front ends make none.
void drop_value_names(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Argument& argument : function.args())
      argument.setName("");
    for (llvm::BasicBlock& block : function) {
      block.setName("");
      for (llvm::Instruction& instruction : block)
        instruction.setName("");
    }
  }
}

// Reads the module; the result's refusal says why it is not carried. Clang reports input that is not IR.
FrontendResult read_module(const session::Session& session, const std::string& input,
                           const clang::TargetOptions& options) {
  FrontendResult result;
  result.compiled = true;
  rewind_standard_input();
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input);
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module;
  if (buffer)
    module = llvm::parseIR((*buffer)->getMemBufferRef(), error, context);
  if (!module || llvm::verifyModule(*module)) {
    result.refusal =
        "no IR that LLVM can read" + (error.getMessage().empty() ? "" : ": " + error.getMessage().str());
    return result;
  }
  result.refusal = fit_target(*module, options);
  if (const std::string function = wide_function(*module); result.refusal.empty() && !function.empty())
    result.refusal = function + " passes vectors of more than 128 bits by value";
  if (!result.refusal.empty())
    return result;
  const Result<Attributes> attributes = Attributes::create(options);
  if (!attributes) {
    result.refusal = attributes.error().message;
    return result;
  }
  drop_value_names(*module);
  rename_files(debug_metadata_of(*module),
               [&](const std::string& path) { return mapped_path(session, path); });
  result.needs_optimization = ir::needs_optimization(*module, [](const llvm::Function&) { return false; });
  finish_module(session, *module, [&](llvm::Module& each) { return attributes->canonicalize(each); }, result);
  result.plain = result.refusal.empty() && !needs_features(*module) && result.module.fixed_functions == 0;
  return result;
}

} // namespace

Result<CompileResult> capture_ir(const session::Session& session, const clang::CompilerInvocation& invocation,
                                 UnitWriter writer) {
  XAAS_CHECK(differs_at_levels(session, writer.draft().source, "it is LLVM IR"));
  FrontendResult made = read_module(session, invocation.getFrontendOpts().Inputs[0].getFile().str(),
                                    invocation.getTargetOpts());
  if (!made.refusal.empty())
    return CompileResult{CompileOutcome::carried, writer.output(), made.refusal};
  known::KnownUnit unit;
  unit.plain = made.plain;
  if (unit.plain)
    unit.working_features.emplace();
  unit.needs_optimization = made.needs_optimization;
  unit.names_places = made.names_places;
  unit.bitcode = std::move(made.module.bitcode);
  // The IR is the same for every level; a function with features of its own may not run here.
  const auto lesser = [&](const std::string&) { return unit.bitcode; };
  XAAS_TRY(const std::optional<std::string> refusal, writer.make_object(unit, lesser));
  if (refusal)
    return CompileResult{CompileOutcome::carried, writer.output(), *refusal};
  return writer.write(unit, false, std::nullopt);
}

} // namespace xaas::frontdoor
