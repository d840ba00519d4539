#include <xaas/lower/cpu_guard.h>
#include <xaas/lower/lower.h>
#include <xaas/target/feature_bits.h>

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <array>

namespace xaas::lower {

// guard/guard.c, compiled for the weakest CPU of each architecture.
std::string_view guard_ir_x86_64();
std::string_view guard_ir_aarch64();

namespace {

using target::FeatureBit;

std::vector<FeatureBit> needed(const target::Cpu& target) {
  const std::vector<std::string> guarded = target::guarded_features(target.arch, target.features);
  std::vector<FeatureBit> bits;
  for (const FeatureBit& bit : target::feature_bits(target.arch))
    if (std::find(guarded.begin(), guarded.end(), bit.name) != guarded.end())
      bits.push_back(bit);
  return bits;
}

void define(llvm::Module& module, const char* name, llvm::Constant* value) {
  auto* variable = new llvm::GlobalVariable(
      module, value->getType(), true, llvm::GlobalValue::InternalLinkage, value, ""); // the module owns it
  if (llvm::GlobalVariable* declared = module.getGlobalVariable(name)) {
    declared->replaceAllUsesWith(variable);
    declared->eraseFromParent();
  }
  variable->setName(name);
}

void define_table(llvm::Module& module, const target::Cpu& target, const std::vector<FeatureBit>& bits) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const word = llvm::Type::getInt32Ty(context);
  llvm::ArrayType* const name_type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 20);
  llvm::StructType* const entry = llvm::StructType::get(context, {word, word, word, word, word, name_type});
  const auto number = [&](uint32_t value) { return llvm::ConstantInt::get(word, value); };
  std::vector<llvm::Constant*> entries;
  for (const FeatureBit& bit : bits) {
    std::string name = bit.name;
    name.resize(20);
    entries.push_back(llvm::ConstantStruct::get(
        entry,
        {number(bit.leaf), number(bit.subleaf), number(static_cast<uint32_t>(bit.word)), number(bit.bit),
         number(bit.state), llvm::ConstantDataArray::getString(context, name, false)}));
  }
  define(module, "xaas_features",
         llvm::ConstantArray::get(llvm::ArrayType::get(entry, entries.size()), entries));
  define(module, "xaas_feature_count", number(static_cast<uint32_t>(bits.size())));
  define(module, "xaas_target", llvm::ConstantDataArray::getString(context, target.name));
}

void run_first(llvm::Module& module, GuardedFile file) {
  llvm::Function* const guard =
      module.getFunction(file == GuardedFile::program ? "xaas_guard_program" : "xaas_guard_library");
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) { // internal, so that unused functions are dropped
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
  auto* pointer = new llvm::GlobalVariable(module, guard->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                           guard, "xaas_run_guard");
  // The linker sorts .init_array by this number; among equals the first input comes first.
  llvm::appendToCompilerUsed(module, {pointer});
  pointer->setSection(file == GuardedFile::program ? ".preinit_array" : ".init_array.00000");
}

// A GNU property note as assembly text. Its section has its own name, because linkers drop the ISA properties
// of .note.gnu.property.
std::string note_assembly(const target::Cpu& target) {
  const std::vector<std::string> levels = target::isa_levels(target.arch);
  const std::string level = target::isa_level(target.arch, target.features);
  const auto number = std::find(levels.begin(), levels.end(), level) - levels.begin();
  const std::string used =
      std::to_string((2u << number) - 1); // BASELINE, V2, V3, V4: this level and those below
  return ".section .note.xaas.isa,\"a\",@note\n.balign 8\n"
         ".long 4, 16, 5\n.asciz \"GNU\"\n" // NT_GNU_PROPERTY_TYPE_0
         ".long 0xc0010002, 4, " +
         used + ", 0\n"; // GNU_PROPERTY_X86_ISA_1_USED
}

} // namespace

Result<std::string> cpu_guard(const target::Cpu& target, GuardedFile file) {
  const bool x86 = target.arch == "x86_64";
  const std::vector<FeatureBit> bits = needed(target);
  if (bits.empty())
    return std::string();
  llvm::LLVMContext context;
  llvm::SMDiagnostic trouble;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(x86 ? guard_ir_x86_64() : guard_ir_aarch64(), trouble, context);
  if (!module)
    return make_error(ErrorKind::failed, "the CPU guard: " + trouble.getMessage().str());
  define_table(*module, target, bits);
  run_first(*module, file);
  if (x86)
    module->appendModuleInlineAsm(note_assembly(target));

  Job job;
  llvm::raw_string_ostream stream(job.bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  job.unit.source = "xaas-cpu-guard";
  job.unit.module = digest_of(job.bitcode);
  // Fixed: the guard runs on CPUs that lack the target's features.
  job.unit.machine.cpu = x86 ? "x86-64" : "generic";
  job.options.text["triple"] = target::triple(target.arch);
  job.options.codegen["OptimizationLevel"] = 2;
  XAAS_TRY(job.target, target::cpu_by_name(target.arch, target::isa_levels(target.arch).front()));
  XAAS_TRY(Object object, lower(job));
  return std::move(object.bytes);
}

} // namespace xaas::lower
