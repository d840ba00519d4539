#include <xaas/lower/cpu_guard.h>
#include <xaas/lower/lower.h>

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

std::string_view guard_ir(); // guard/guard.c, compiled for plain x86-64

namespace {

// XCR0: SSE and AVX; also opmask and both halves of ZMM; the registers of APX.
constexpr uint32_t avx = 0x6, avx512 = 0xe6, apx = 1 << 19;
enum Word : uint32_t { eax, ebx, ecx, edx };

struct CpuidBit {
  uint32_t leaf, subleaf;
  Word word;
  uint32_t bit, state;
  const char* name; // LLVM's
};

// What code generation may use of its own accord. Instructions that only an intrinsic gives (random numbers,
// SHA, AES, those of the system) are used by functions that ask for them, which they do after asking the CPU.
// Sources: Intel SDM, volume 2, CPUID; AMD64 APM, volume 3, appendix E. Sorted as the guard wants it.
constexpr auto cpuid_bits = std::to_array<CpuidBit>({
    {1, 0, ecx, 0, 0, "sse3"},
    {1, 0, ecx, 1, 0, "pclmul"},
    {1, 0, ecx, 9, 0, "ssse3"},
    {1, 0, ecx, 12, avx, "fma"},
    {1, 0, ecx, 13, 0, "cx16"},
    {1, 0, ecx, 19, 0, "sse4.1"},
    {1, 0, ecx, 20, 0, "sse4.2"},
    {1, 0, ecx, 22, 0, "movbe"},
    {1, 0, ecx, 23, 0, "popcnt"},
    {1, 0, ecx, 28, avx, "avx"},
    {1, 0, ecx, 29, avx, "f16c"},
    {7, 0, ebx, 3, 0, "bmi"},
    {7, 0, ebx, 5, avx, "avx2"},
    {7, 0, ebx, 8, 0, "bmi2"},
    {7, 0, ebx, 16, avx512, "avx512f"},
    {7, 0, ebx, 17, avx512, "avx512dq"},
    {7, 0, ebx, 21, avx512, "avx512ifma"},
    {7, 0, ebx, 28, avx512, "avx512cd"},
    {7, 0, ebx, 30, avx512, "avx512bw"},
    {7, 0, ebx, 31, avx512, "avx512vl"},
    {7, 0, ecx, 1, avx512, "avx512vbmi"},
    {7, 0, ecx, 6, avx512, "avx512vbmi2"},
    {7, 0, ecx, 8, 0, "gfni"},
    {7, 0, ecx, 10, avx, "vpclmulqdq"},
    {7, 0, ecx, 11, avx512, "avx512vnni"},
    {7, 0, ecx, 12, avx512, "avx512bitalg"},
    {7, 0, ecx, 14, avx512, "avx512vpopcntdq"},
    {7, 0, edx, 23, avx512, "avx512fp16"},
    {7, 1, eax, 4, avx, "avxvnni"},
    {7, 1, eax, 5, avx512, "avx512bf16"},
    {7, 1, eax, 7, 0, "cmpccxadd"},
    {7, 1, eax, 23, avx, "avxifma"},
    {7, 1, edx, 4, avx, "avxvnniint8"},
    {7, 1, edx, 5, avx, "avxneconvert"},
    {7, 1, edx, 10, avx, "avxvnniint16"},
    {7, 1, edx, 19, avx512, "avx10.1"},
    {7, 1, edx, 21, apx, "egpr"}, // of APX, whose features come together
    {0x80000001, 0, ecx, 0, 0, "sahf"},
    {0x80000001, 0, ecx, 5, 0, "lzcnt"},
    {0x80000001, 0, ecx, 6, 0, "sse4a"},
    {0x80000001, 0, ecx, 11, avx, "xop"},
    {0x80000001, 0, ecx, 16, avx, "fma4"},
    {0x80000001, 0, ecx, 21, 0, "tbm"},
});

std::vector<CpuidBit> needed(const target::Cpu& target) {
  std::vector<CpuidBit> bits;
  for (const CpuidBit& bit : cpuid_bits)
    if (std::find(target.features.begin(), target.features.end(), bit.name) != target.features.end())
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

void define_table(llvm::Module& module, const target::Cpu& target, const std::vector<CpuidBit>& bits) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const word = llvm::Type::getInt32Ty(context);
  llvm::ArrayType* const name_type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 20);
  llvm::StructType* const entry = llvm::StructType::get(context, {word, word, word, word, word, name_type});
  const auto number = [&](uint32_t value) { return llvm::ConstantInt::get(word, value); };
  std::vector<llvm::Constant*> entries;
  for (const CpuidBit& bit : bits) {
    std::string name = bit.name;
    name.resize(20);
    entries.push_back(llvm::ConstantStruct::get(
        entry, {number(bit.leaf), number(bit.subleaf), number(bit.word), number(bit.bit), number(bit.state),
                llvm::ConstantDataArray::getString(context, name, false)}));
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
    if (!function.isDeclaration()) { // what is not used goes
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
  auto* pointer = new llvm::GlobalVariable(module, guard->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                           guard, "xaas_run_guard");
  // The linker sorts .init_array by this number; among equals the first input comes first.
  llvm::appendToCompilerUsed(module, {pointer});
  pointer->setSection(file == GuardedFile::program ? ".preinit_array" : ".init_array.00000");
}

// A GNU property note, as text: its section has a name of its own, since linkers drop the ISA properties of
// .note.gnu.property.
std::string note_assembly(const target::Cpu& target) {
  const std::vector<std::string> levels = target::isa_levels(target.arch);
  const std::string level = target::isa_level(target.arch, target.features);
  const auto number = std::find(levels.begin(), levels.end(), level) - levels.begin();
  const std::string used = std::to_string((2u << number) - 1); // BASELINE, V2, V3, V4: this and those below
  return ".section .note.xaas.isa,\"a\",@note\n.balign 8\n"
         ".long 4, 16, 5\n.asciz \"GNU\"\n" // NT_GNU_PROPERTY_TYPE_0
         ".long 0xc0010002, 4, " +
         used + ", 0\n"; // GNU_PROPERTY_X86_ISA_1_USED
}

} // namespace

Result<std::string> cpu_guard(const target::Cpu& target, GuardedFile file) {
  const std::vector<CpuidBit> bits = target.arch == "x86_64" ? needed(target) : std::vector<CpuidBit>();
  if (bits.empty())
    return std::string();
  llvm::LLVMContext context;
  llvm::SMDiagnostic trouble;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(guard_ir(), trouble, context);
  if (!module)
    return make_error(ErrorKind::failed, "the CPU guard: " + trouble.getMessage().str());
  define_table(*module, target, bits);
  run_first(*module, file);
  module->appendModuleInlineAsm(note_assembly(target));

  Job job;
  llvm::raw_string_ostream stream(job.bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  job.unit.source = "xaas-cpu-guard";
  job.unit.module = digest_of(job.bitcode);
  job.unit.machine.cpu = "x86-64"; // fixed: whatever the target
  job.options.text["triple"] = target::triple(target.arch);
  job.options.codegen["OptimizationLevel"] = 2;
  XAAS_TRY(job.target, target::cpu_by_name(target.arch, "x86-64"));
  return lower(job);
}

} // namespace xaas::lower
