// Objects from bitcode with the LLVM that the program is linked with. That of the machine's Clang has a fault
// in its vectorizer (cmake/llvm/wrap_predicate.cpp).
#include "testing.h"

#include <xaas/base/text.h>

#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Driver/CreateInvocationFromArgs.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendOptions.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>

namespace xaas::cpukernel {

bool compile_bitcode(const std::string& options, const fs::path& bitcode, const fs::path& object) {
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeAllAsmParsers();
  std::vector<std::string> arguments = split(std::string(XAAS_TEST_CLANG) + " " + options, ' ');
  arguments.insert(arguments.end(), {"-Wno-override-module", bitcode.string()});
  std::vector<const char*> texts;
  for (const std::string& argument : arguments)
    texts.push_back(argument.c_str());
  std::shared_ptr<clang::CompilerInvocation> invocation = clang::createInvocation(texts);
  if (!invocation)
    return false;
  invocation->getFrontendOpts().ProgramAction = clang::frontend::EmitObj;
  invocation->getFrontendOpts().OutputFile = object.string();
  clang::CompilerInstance compiler(std::move(invocation));
  compiler.createVirtualFileSystem();
  compiler.createDiagnostics();
  const std::vector<std::string> option = split(llvm_option, '=');
  llvm::cl::Option* const known = llvm::cl::getRegisteredOptions().lookup(option.front());
  if (!known || (known->getNumOccurrences() == 0 && known->addOccurrence(0, known->ArgStr, option.back())))
    return false;
  llvm::LLVMContext context;
  clang::EmitObjAction action(&context);
  return compiler.ExecuteAction(action);
}

} // namespace xaas::cpukernel
