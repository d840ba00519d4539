// Problem: a module for NVPTX has another data layout than the host, and five address spaces.
//
//     @s = internal addrspace(3) global [64 x i32] undef                     shared: one for each block
//     @factor = addrspace(4) externally_initialized constant float 0.0       constant memory
//     store i32 1, ptr addrspacecast (ptr addrspace(3) @s to ptr)
//
// becomes, before shared variables get their places (kernel.cpp),
//
//     @s = internal global [64 x i32] undef
//     @factor = internal global float 0.0
//     store i32 1, ptr @s
//
// Approach: Clang emits code with generic pointers, and casts where a variable is named. So variables are
// made again in the generic address space, and casts disappear. Conversions between generic addresses and
// those of one space (`__cvta_generic_to_shared`), which only inline assembly needs, become the identity.
//
// The host wrote its structures with its own layout, so both layouts must agree on every type that the module
// has. They do on x86-64 and AArch64: CUDA requires that of Clang. It is checked, not assumed.
//
// Rejected: keeping address spaces for alias analysis. TBAA and the arena's noalias pointers say as much, and
// every host pass would have to know the spaces.
#include "normalise.h"

#include <xaas/target/cpu.h>

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/IR/TypeFinder.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

namespace xaas::cpukernel {

namespace {

Result<void> compare_layouts(const llvm::Module& module, const llvm::DataLayout& host) {
  const llvm::DataLayout& device = module.getDataLayout();
  llvm::TypeFinder types;
  types.run(module, false);
  for (llvm::StructType* type : types) {
    if (!type->isSized())
      continue;
    const llvm::StructLayout* a = device.getStructLayout(type);
    const llvm::StructLayout* b = host.getStructLayout(type);
    bool equal = a->getSizeInBytes() == b->getSizeInBytes() && a->getAlignment() == b->getAlignment();
    for (unsigned i = 0; equal && i < type->getNumElements(); ++i)
      equal = a->getElementOffset(i) == b->getElementOffset(i);
    if (!equal)
      return make_error(ErrorKind::failed, "the type " +
                                               (type->hasName() ? type->getName().str() : "of a variable") +
                                               " has another layout on this CPU than on the GPU");
  }
  return {};
}

bool is_of_space(const llvm::Type* type) {
  const auto* pointer = llvm::dyn_cast<llvm::PointerType>(type->getScalarType());
  return pointer && pointer->getAddressSpace() != generic;
}

class Normaliser {
public:
  explicit Normaliser(llvm::Module& module) : module_(module), context_(module.getContext()) {}

  SharedVariables run() {
    move_variables();
    for (llvm::Function& function : module_)
      if (!function.isDeclaration())
        make_generic(function);
    for (llvm::Function& function : module_)
      make_plain(function);
    return std::move(shared_);
  }

private:
  void move_variables() {
    std::vector<llvm::GlobalVariable*> variables;
    for (llvm::GlobalVariable& variable : module_.globals())
      if (variable.getAddressSpace() != generic)
        variables.push_back(&variable);
    for (llvm::GlobalVariable* variable : variables)
      move(*variable);
  }

  void move(llvm::GlobalVariable& variable) {
    auto* moved = new llvm::GlobalVariable(module_, variable.getValueType(), false, variable.getLinkage(),
                                           variable.hasInitializer() ? variable.getInitializer() : nullptr,
                                           "", &variable);
    moved->takeName(&variable);
    moved->setAlignment(variable.getAlign());
    moved->setExternallyInitialized(variable.isExternallyInitialized());
    if (variable.getAddressSpace() == AddressSpace::shared)
      (variable.isDeclaration() ? shared_.dynamic : shared_.fixed).push_back(moved);
    std::vector<llvm::User*> casts;
    for (llvm::User* user : variable.users())
      if (llvm::isa<llvm::AddrSpaceCastOperator>(user))
        casts.push_back(user);
    for (llvm::User* cast : casts)
      cast->replaceAllUsesWith(moved);
    // What is left names the variable in its own space: as an operand of instructions, which become generic.
    variable.removeDeadConstantUsers();
    llvm::convertUsersOfConstantsToInstructions({&variable});
    for (llvm::Use& use : llvm::make_early_inc_range(variable.uses()))
      use.set(moved);
    variable.eraseFromParent();
  }

  void make_generic(llvm::Function& function) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (is_of_space(instruction.getType()))
        instruction.mutateType(instruction.getType()->getWithNewType(llvm::PointerType::get(context_, 0)));
      if (auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(&instruction)) {
        cast->replaceAllUsesWith(cast->getOperand(0));
        cast->eraseFromParent();
      }
    }
  }

  // Without what only a GPU reads.
  static void make_plain(llvm::Function& function) {
    for (const char* attribute :
         {"target-cpu", "target-features", "uniform-work-group-size", "nvvm.maxntid", "nvvm.minctasm",
          "nvvm.maxnreg", "nvvm.reqntid", "nvvm.cluster_dim", source_attribute})
      function.removeFnAttr(attribute);
    function.setComdat(nullptr);
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  SharedVariables shared_;
};

} // namespace

Result<SharedVariables> normalise(llvm::Module& module, const std::string& arch) {
  if (!module.getTargetTriple().isNVPTX())
    return make_error(ErrorKind::integrity, "the module is for " + module.getTargetTriple().str());
  const llvm::Triple triple(target::triple(arch));
  const llvm::DataLayout layout(triple.computeDataLayout());
  XAAS_CHECK(compare_layouts(module, layout));
  module.setTargetTriple(triple);
  module.setDataLayout(layout);
  return Normaliser(module).run();
}

} // namespace xaas::cpukernel
