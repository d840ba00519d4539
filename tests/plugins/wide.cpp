// A pass plugin that makes a function: `first`, which the link declares and does not define, passes the first four
// numbers of its argument to `sum` as a vector, and adds 10000 times the level at which the link optimizes. As passes do,
// it gives its function no target of its own.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>

namespace {

struct Wide : llvm::PassInfoMixin<Wide> {
  explicit Wide(llvm::OptimizationLevel level) : level_(level) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    llvm::Function* first = module.getFunction("first");
    if (first == nullptr || !first->isDeclaration())
      return llvm::PreservedAnalyses::all();
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* number = llvm::Type::getDoubleTy(context);
    llvm::Type* vector = llvm::FixedVectorType::get(number, 4);
    const llvm::FunctionCallee sum = module.getOrInsertFunction("sum", llvm::FunctionType::get(number, {vector}, false));
    first->setAttributes({});
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", first));
    llvm::Value* result = builder.CreateCall(sum, {builder.CreateAlignedLoad(vector, first->getArg(0), llvm::Align(8))});
    builder.CreateRet(builder.CreateFAdd(result, llvm::ConstantFP::get(number, 10000.0 * level_.getSpeedupLevel())));
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  llvm::OptimizationLevel level_;
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "wide", "1", [](llvm::PassBuilder& builder) {
            builder.registerFullLinkTimeOptimizationEarlyEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) { passes.addPass(Wide(level)); });
          }};
}
