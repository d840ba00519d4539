// A pass plugin for instrumentation: every function that a module defines prints its name to standard error when it is
// entered, after the text of -trace-prefix. Names that start with an underscore or a dot are left out.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/CommandLine.h>

#include <string>

namespace {

llvm::cl::opt<std::string> prefix("trace-prefix", llvm::cl::desc("What precedes each name"), llvm::cl::init("entered "));

llvm::cl::list<std::string> skipped("trace-skip", llvm::cl::CommaSeparated,
                                    llvm::cl::desc("Functions that print nothing"));

struct Trace : llvm::PassInfoMixin<Trace> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    llvm::LLVMContext& context = module.getContext();
    const llvm::FunctionCallee print = module.getOrInsertFunction(
        "dprintf", llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                                           {llvm::Type::getInt32Ty(context), llvm::PointerType::getUnqual(context)}, true));
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || function.getName().starts_with("_") || function.getName().starts_with(".") ||
          llvm::is_contained(skipped, function.getName().str()))
        continue;
      llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      builder.CreateCall(print, {builder.getInt32(2), builder.CreateGlobalString(prefix + function.getName().str() + "\n")});
    }
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "trace", "1", [](llvm::PassBuilder& builder) {
            builder.registerOptimizerLastEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel, llvm::ThinOrFullLTOPhase) {
                  passes.addPass(Trace());
                });
          }};
}
