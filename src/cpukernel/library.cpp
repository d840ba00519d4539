#include "library.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>
#include <map>

namespace xaas::cpukernel {

namespace {

constexpr llvm::StringLiteral intrinsic_prefix = "llvm.nvvm.";
constexpr llvm::StringLiteral own_intrinsic_prefix = "xaas.thread.";
constexpr const char* any_thread_prefix = "xaas_nvvm_";

// A device function may have the name of a function of the C library (`sqrt`), which means another one on the
// host.
void rename_functions(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (!function.isDeclaration())
      function.setName("device." + function.getName());
}

Result<void> link(llvm::Module& module, std::string_view text, const char* file) {
  llvm::LLVMContext& context = module.getContext();
  const bool discards = context.shouldDiscardValueNames();
  context.setDiscardValueNames(false); // the text has some
  llvm::SMDiagnostic trouble;
  std::unique_ptr<llvm::Module> library = llvm::parseAssemblyString(llvm::StringRef(text), trouble, context);
  context.setDiscardValueNames(discards);
  if (!library)
    return make_error(ErrorKind::failed, std::string(file) + ": " + trouble.getMessage().str());
  for (llvm::Function& function : *library)
    if (function.isDeclaration() && !function.isIntrinsic())
      function.addFnAttr(provided_attribute);
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  if (llvm::NamedMDNode* flags = library->getModuleFlagsMetadata()) // the device module's count
    library->eraseNamedMetadata(flags);
  if (llvm::Linker::linkModules(module, std::move(library)))
    return make_error(ErrorKind::failed, std::string(file) + " contradicts the device module");
  return {};
}

// Functions that CUDA gives device code. The run-time library has them under other names, because the host's
// C library has some of these.
constexpr std::pair<const char*, const char*> functions_of_cuda[] = {{"vprintf", "xaas_vprintf"},
                                                                     {"__assertfail", "xaas_assertfail"},
                                                                     {"malloc", "xaas_malloc"},
                                                                     {"free", "xaas_free"}};

void provide_functions(llvm::Module& module) {
  for (const auto& [name, own] : functions_of_cuda)
    if (llvm::Function* function = module.getFunction(name); function && function->isDeclaration()) {
      function->setName(own);
      function->addFnAttr(provided_attribute);
    }
}

// llvm.nvvm.atomic.OPERATION.gen.TYPE.SCOPE: atomic for the block or the system. Blocks run in one process,
// so that the scope makes no difference.
void replace_atomics(llvm::Module& module) {
  constexpr llvm::AtomicOrdering order = llvm::AtomicOrdering::SequentiallyConsistent;
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = function.getName();
    if (!name.consume_front("llvm.nvvm.atomic."))
      continue;
    const llvm::StringRef operation = name.take_until([](char c) { return c == '.'; });
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call || call->getCalledOperand() != &function)
        continue;
      llvm::IRBuilder<> builder(call);
      llvm::Value* result = nullptr;
      if (operation == "cas") {
        result = builder.CreateExtractValue(
            builder.CreateAtomicCmpXchg(call->getArgOperand(0), call->getArgOperand(1),
                                        call->getArgOperand(2), llvm::MaybeAlign(), order, order),
            0);
      } else if (const auto kind = atomic_operation(operation, call->getType()->isFloatingPointTy(), true)) {
        result = builder.CreateAtomicRMW(*kind, call->getArgOperand(0), call->getArgOperand(1),
                                         llvm::MaybeAlign(), order);
      } else {
        continue;
      }
      call->replaceAllUsesWith(result);
      call->eraseFromParent();
    }
    if (function.use_empty())
      function.eraseFromParent();
  }
}

void replace_intrinsics(llvm::Module& module) {
  std::vector<llvm::Function*> intrinsics;
  for (llvm::Function& function : module)
    if (!intrinsic_name(function).empty())
      intrinsics.push_back(&function);
  for (llvm::Function* intrinsic : intrinsics) {
    llvm::Function* own = module.getFunction(any_thread_prefix + intrinsic_name(*intrinsic));
    if (!own || own->getFunctionType() != intrinsic->getFunctionType())
      continue;
    intrinsic->replaceAllUsesWith(own);
    intrinsic->eraseFromParent();
  }
}

} // namespace

std::optional<llvm::AtomicRMWInst::BinOp> atomic_operation(llvm::StringRef name, bool is_real,
                                                           bool is_signed) {
  using Operation = llvm::AtomicRMWInst::BinOp;
  static const std::map<llvm::StringRef, Operation> reals = {{"add", Operation::FAdd},
                                                             {"exch", Operation::Xchg}};
  static const std::map<llvm::StringRef, Operation> integers = {
      {"add", Operation::Add},  {"exch", Operation::Xchg},    {"and", Operation::And},
      {"or", Operation::Or},    {"xor", Operation::Xor},      {"min", Operation::UMin},
      {"max", Operation::UMax}, {"inc", Operation::UIncWrap}, {"dec", Operation::UDecWrap}};
  if (!is_real && is_signed && (name == "min" || name == "max"))
    return name == "min" ? Operation::Min : Operation::Max;
  const auto& all = is_real ? reals : integers;
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

std::string intrinsic_name(const llvm::Function& function) {
  llvm::StringRef name = function.getName();
  if (!name.consume_front(intrinsic_prefix) && !name.consume_front(own_intrinsic_prefix))
    return {};
  std::string result = name.str();
  std::replace(result.begin(), result.end(), '.', '_');
  return result;
}

bool is_missing(const llvm::Function& function) {
  return function.isDeclaration() && !function.isIntrinsic() && !function.hasFnAttribute(provided_attribute);
}

const llvm::Function* callee_of(const llvm::CallBase& call) {
  return llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
}

Result<void> add_library(llvm::Module& module, const LibraryIr& library) {
  rename_functions(module);
  provide_functions(module);
  XAAS_CHECK(link(module, library.math, "math.c"));
  XAAS_CHECK(link(module, library.thread, "thread.c"));
  for (llvm::Function& function : module)
    if (function.getName().starts_with("xaas_") || function.getName().starts_with("__nv_"))
      if (!function.isDeclaration()) {
        function.removeFnAttr("target-cpu");
        function.removeFnAttr("target-features");
        function.removeFnAttr("tune-cpu");
      }
  replace_atomics(module);
  replace_intrinsics(module);
  return {};
}

} // namespace xaas::cpukernel
