// A pass plugin: calls of `double derivative_of(double (*f)(double), double x)` become the derivative of f, a polynomial
// that is written as one expression, at x. With -derivative-scale=N (an LLVM option that it adds) N times of it.
//
// As a plugin for automatic differentiation does, it needs the definition of f in the module, and a link without it fails
// because nothing defines derivative_of.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <map>

namespace {

llvm::cl::opt<double> scale("derivative-scale", llvm::cl::desc("A factor of every derivative"), llvm::cl::init(1.0));

[[noreturn]] void refuse(const std::string& what) {
  llvm::report_fatal_error(llvm::Twine("derivative: ") + what, false);
}

llvm::Value* derivative(llvm::IRBuilder<>& builder, std::map<llvm::Value*, llvm::Value*>& known, llvm::Value* value) {
  llvm::Type* const number = llvm::Type::getDoubleTy(value->getContext());
  if (llvm::isa<llvm::Constant>(value))
    return llvm::ConstantFP::get(number, 0.0);
  if (const auto found = known.find(value); found != known.end())
    return found->second;
  auto* const instruction = llvm::cast<llvm::Instruction>(value);
  llvm::Value* const a = instruction->getOperand(0);
  llvm::Value* const da = derivative(builder, known, a);
  llvm::Value* const b = instruction->getNumOperands() > 1 ? instruction->getOperand(1) : nullptr;
  llvm::Value* const db = instruction->isBinaryOp() ? derivative(builder, known, b) : nullptr;
  switch (instruction->getOpcode()) {
  case llvm::Instruction::FAdd:
    return builder.CreateFAdd(da, db);
  case llvm::Instruction::FSub:
    return builder.CreateFSub(da, db);
  case llvm::Instruction::FMul:
    return builder.CreateFAdd(builder.CreateFMul(da, b), builder.CreateFMul(a, db));
  case llvm::Instruction::FNeg:
    return builder.CreateFNeg(da);
  case llvm::Instruction::Call: // llvm.fmuladd
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(instruction);
        call && call->getIntrinsicID() == llvm::Intrinsic::fmuladd) {
      llvm::Value* const factor = call->getArgOperand(1);
      return builder.CreateFAdd(builder.CreateFAdd(builder.CreateFMul(da, factor),
                                                   builder.CreateFMul(a, derivative(builder, known, factor))),
                                derivative(builder, known, call->getArgOperand(2)));
    }
    [[fallthrough]];
  default:
    refuse(std::string("cannot differentiate ") + instruction->getOpcodeName());
  }
}

llvm::Function* derivative_function(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  if (function.isDeclaration())
    refuse("no definition of " + function.getName().str() + " in this module");
  llvm::ValueToValueMapTy map;
  llvm::Function* const made = llvm::CloneFunction(&function, map);
  made->setName(function.getName() + ".derivative");
  made->setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::PromotePass().run(*made, analyses); // without optimization, the argument is in memory
  auto* const result = llvm::dyn_cast<llvm::ReturnInst>(made->getEntryBlock().getTerminator());
  if (!result)
    refuse(function.getName().str() + " has branches");
  llvm::IRBuilder<> builder(result);
  std::map<llvm::Value*, llvm::Value*> known{{made->getArg(0), llvm::ConstantFP::get(builder.getDoubleTy(), 1.0)}};
  llvm::Value* const slope = derivative(builder, known, result->getReturnValue());
  result->setOperand(0, builder.CreateFMul(slope, llvm::ConstantFP::get(builder.getDoubleTy(), scale)));
  return made;
}

struct Differentiate : llvm::PassInfoMixin<Differentiate> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    llvm::Function* const marker = module.getFunction("derivative_of");
    if (!marker)
      return llvm::PreservedAnalyses::all();
    auto& functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (llvm::User* const user : llvm::make_early_inc_range(marker->users())) {
      auto* const call = llvm::cast<llvm::CallInst>(user);
      auto* const function = llvm::dyn_cast<llvm::Function>(call->getArgOperand(0));
      if (!function)
        refuse("the function is not known");
      llvm::IRBuilder<> builder(call);
      call->replaceAllUsesWith(builder.CreateCall(derivative_function(*function, functions), {call->getArgOperand(1)}));
      call->eraseFromParent();
    }
    marker->eraseFromParent();
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "derivative", DERIVATIVE_VERSION, [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(Differentiate()); });
            builder.registerFullLinkTimeOptimizationEarlyEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(Differentiate()); });
          }};
}
