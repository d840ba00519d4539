#include "gpu_libraries.h"

#include <xaas/ir/options.h>

#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

// A function of Clang that no installed header declares. If a later Clang changes it, this program does not
// link.
namespace clang::CodeGen {
void mergeDefaultFunctionDefinitionAttributes(llvm::Function& function, const CodeGenOptions& codegen,
                                              const LangOptions& language, const TargetOptions& target,
                                              bool internalize);
} // namespace clang::CodeGen

namespace xaas::lower {

void set_gpu_options(const ir::UnitOptions& options, const target::Cpu& target) {
  std::vector<std::string> words = {"xaas"};
  if (target.arch == "nvptx64") // only these GPUs lack the memory functions
    words.emplace_back("-enable-memcpyopt-without-libcalls");
  for (const ir::GpuOption& option : ir::gpu_options())
    if (const auto value = options.gpu.find(option.name); value != options.gpu.end())
      words.push_back(option.prefix + std::to_string(value->second));
  std::vector<const char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(word.c_str());
  llvm::cl::ResetAllOptionOccurrences();
  llvm::cl::ParseCommandLineOptions(static_cast<int>(arguments.size()), arguments.data());
}

void keep_kernel_options(llvm::Module& module, const ir::UnitOptions& options) {
  constexpr const char* registers = "nvvm.maxnreg";
  const auto most = options.gpu.find(ir::ptxas_registers);
  if (most == options.gpu.end())
    return;
  for (llvm::Function& function : module)
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel && !function.hasFnAttribute(registers))
      function.addFnAttr(registers, std::to_string(most->second));
}

static void internalize(llvm::Module& module, const llvm::StringSet<>& names) {
  llvm::internalizeModule(module, [&names](const llvm::GlobalValue& value) {
    return !value.hasName() || !names.contains(value.getName());
  });
}

// Only the options from which function attributes are made (clang/lib/CodeGen/CGCall.cpp): device code is
// convergent wherever that is possible, and throws nothing.
static clang::LangOptions device_language(const clang::CompilerInstance& compiler) {
  clang::LangOptions language = compiler.getLangOpts();
  language.CUDA = true;
  language.CUDAIsDevice = true;
  return language;
}

static void merge_attributes(llvm::Module& library, const clang::CompilerInstance& compiler) {
  const clang::LangOptions language = device_language(compiler);
  for (llvm::Function& function : library)
    if (!function.isIntrinsic())
      clang::CodeGen::mergeDefaultFunctionDefinitionAttributes(function, compiler.getCodeGenOpts(), language,
                                                               compiler.getTarget().getTargetOpts(), true);
}

Result<void> link_gpu_libraries(llvm::Module& module, const std::vector<std::string>& libraries,
                                const clang::CompilerInstance& compiler) {
  for (const std::string& bitcode : libraries) {
    // Loaded lazily: a library has thousands of functions, of which a unit calls a few.
    llvm::Expected<std::unique_ptr<llvm::Module>> parsed =
        llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "library"), module.getContext());
    if (!parsed)
      return make_error(ErrorKind::integrity, "the device library: " + llvm::toString(parsed.takeError()));
    std::unique_ptr<llvm::Module> library = std::move(*parsed);
    library->setTargetTriple(module.getTargetTriple());
    library->setDataLayout(module.getDataLayout());
    merge_attributes(*library, compiler);
    if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded, internalize))
      return make_error(ErrorKind::integrity, "the device library cannot be linked");
  }
  if (!libraries.empty() && llvm::verifyModule(module))
    return make_error(ErrorKind::integrity, "the device library: malformed IR");
  return {};
}

} // namespace xaas::lower
