// The run-time library (library/runtime.c, fibers.c and checks.c) for one program.
#include <xaas/cpukernel/cpukernel.h>

#include "library_ir.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace xaas::cpukernel {

namespace {

constexpr const char* image_mark = "xaas-cpu:"; // library/runtime/registration.c has the same

void define(llvm::Module& module, const char* name, unsigned value) {
  llvm::GlobalVariable* variable = module.getGlobalVariable(name);
  variable->setInitializer(llvm::ConstantInt::get(variable->getValueType(), value));
  variable->setConstant(true);
  variable->setLinkage(llvm::GlobalValue::InternalLinkage);
}

// int NAME() { return xaas_not_supported("NAME", &said); }
void add_missing(llvm::Module& module, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const word = llvm::Type::getInt32Ty(context);
  llvm::Function* const function = llvm::Function::Create(llvm::FunctionType::get(word, false),
                                                          llvm::GlobalValue::ExternalLinkage, name, module);
  auto* said = new llvm::GlobalVariable(module, word, false, llvm::GlobalValue::PrivateLinkage,
                                        llvm::ConstantInt::get(word, 0)); // the module owns it
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  builder.CreateRet(
      builder.CreateCall(module.getFunction("xaas_not_supported"), {builder.CreateGlobalString(name), said}));
}

} // namespace

bool runs_on(const std::string& arch) {
  return library_ir(arch) != nullptr;
}

std::string image_text(const std::string& image) {
  return image_mark + image + std::string(1, '\0');
}

Result<std::string> runtime_library(const std::string& arch, unsigned release, unsigned architecture,
                                    const std::set<std::string>& functions, bool checked) {
  const LibraryIr* const library = library_ir(arch);
  if (!library)
    return make_error(ErrorKind::unsatisfied, "there is no run-time library for kernels on " + arch);
  llvm::LLVMContext context;
  llvm::SMDiagnostic trouble;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(llvm::StringRef(library->runtime), trouble, context);
  if (!module)
    return make_error(ErrorKind::failed, "the run-time library: " + trouble.getMessage().str());
  const auto add = [&](std::string_view text, const std::string& file) -> Result<void> {
    std::unique_ptr<llvm::Module> part = llvm::parseAssemblyString(llvm::StringRef(text), trouble, context);
    if (!part)
      return make_error(ErrorKind::failed, "the run-time library: " + trouble.getMessage().str());
    if (llvm::Linker::linkModules(*module, std::move(part)))
      return make_error(ErrorKind::failed, "the run-time library: " + file + " contradicts runtime.c");
    return {};
  };
  XAAS_CHECK(add(library->fibers, "fibers.c"));
  define(*module, "xaas_cuda_release", release);
  define(*module, "xaas_architecture", architecture);
  define(*module, "xaas_checked", checked);
  if (checked)
    XAAS_CHECK(add(library->checks, "checks.c"));
  for (llvm::Function& function : *module)
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu"})
      function.removeFnAttr(attribute);
  for (const std::string& name : functions)
    if (!module->getFunction(name))
      add_missing(*module, name);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*module, stream);
  return bitcode;
}

} // namespace xaas::cpukernel
