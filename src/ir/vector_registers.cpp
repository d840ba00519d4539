#include "vector_registers.h"

#include <xaas/ir/back_ends.h>

#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <string>
#include <utility>

namespace xaas::ir {

uint64_t widest_vector(const llvm::Type* type) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    const llvm::Type* element = vector->getElementType();
    // Pointers count as the widest that there are.
    return vector->getNumElements() * (element->isPointerTy() ? 64 : element->getScalarSizeInBits());
  }
  uint64_t widest = 0;
  for (const llvm::Type* part : type->subtypes())
    widest = std::max(widest, widest_vector(part));
  return widest;
}

uint64_t widest_vector_of(const llvm::FunctionType& type) {
  uint64_t widest = widest_vector(type.getReturnType());
  for (const llvm::Type* parameter : type.params())
    widest = std::max(widest, widest_vector(parameter));
  return widest;
}

Result<Registers> Registers::create(const llvm::Module& module, const TargetAttributes& plain) {
  initialize_back_ends();
  std::string why;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), why);
  if (!target)
    return make_error(ErrorKind::failed, why);
  Registers registers;
  registers.machine_.reset(target->createTargetMachine(module.getTargetTriple(), plain.cpu, plain.features,
                                                       llvm::TargetOptions(), llvm::Reloc::PIC_));
  registers.plain_ = plain;
  registers.module_ = std::make_unique<llvm::Module>("registers", module.getContext());
  registers.module_->setTargetTriple(module.getTargetTriple());
  registers.module_->setDataLayout(module.getDataLayout());
  registers.machines_ = std::make_unique<llvm::MachineModuleInfo>(registers.machine_.get());
  return registers;
}

Result<Form> Registers::form(const llvm::Function& function, llvm::FunctionType* signature,
                             llvm::CallingConv::ID convention) {
  return form_of(probe(function, false), signature, convention);
}

Result<Form> Registers::plain_form(const llvm::Function& function, llvm::FunctionType* signature,
                                   llvm::CallingConv::ID convention) {
  return form_of(probe(function, true), signature, convention);
}

bool Registers::moves_arguments(const llvm::Function& function, llvm::FunctionType* signature,
                                llvm::CallingConv::ID convention) {
  llvm::Function& probed = probe(function, false);
  for (llvm::Type* parameter : signature->params())
    for (const Leaf& leaf : leaves_of(probed, parameter, convention))
      if (leaf.registers > 1 && widest_vector(leaf.type) > width_of_all)
        return true;
  return false;
}

std::optional<Form> Registers::both(const llvm::Function& function, const Form& plain,
                                    llvm::FunctionType* signature, llvm::CallingConv::ID convention) {
  if (plain.kind != Form::pieces || !signature->getReturnType()->isVectorTy())
    return std::nullopt;
  std::vector<llvm::Type*> types{signature->getReturnType()};
  const llvm::ArrayRef<llvm::Type*> all = llvm::cast<llvm::StructType>(plain.type)->elements();
  types.insert(types.end(), all.begin() + 1, all.end());
  Form form{Form::both, llvm::StructType::get(function.getContext(), types), plain.leaves};
  llvm::Function& probed = probe(function, false);
  const std::optional<std::vector<llvm::MVT>> registers =
      returned_in(probed, form.type, convention, signature->isVarArg());
  return registers && registers->size() == types.size() ? std::optional(form) : std::nullopt;
}

bool Registers::can_return(const llvm::Function& function, const Form& plain, llvm::FunctionType* signature,
                           llvm::CallingConv::ID convention) {
  llvm::Type* type = plain.kind == Form::as_it_is ? signature->getReturnType() : plain.type;
  return returned_in(probe(function, false), type, convention, signature->isVarArg()) ==
         returned_in(probe(function, true), type, convention, signature->isVarArg());
}

// A function with the attributes that decide about registers.
llvm::Function& Registers::probe(const llvm::Function& function, bool plain) {
  llvm::AttrBuilder attributes(function.getContext(), function.getAttributes().getFnAttrs());
  if (plain)
    for (const auto& [name, value] :
         {std::pair("target-cpu", &plain_.cpu), std::pair("tune-cpu", &plain_.tune),
          std::pair("target-features", &plain_.features)}) {
      attributes.removeAttribute(name);
      if (!value->empty())
        attributes.addAttribute(name, *value);
    }
  llvm::Function*& known = probes_[llvm::AttributeSet::get(function.getContext(), attributes)];
  if (!known) {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(function.getContext()), false);
    known = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "", *module_);
    known->addFnAttrs(attributes);
  }
  return *known;
}

const llvm::TargetLowering& Registers::lowering_of(const llvm::Function& probed) const {
  return *machine_->getSubtargetImpl(probed)->getTargetLowering();
}

// The types of the registers; nothing if they do not suffice.
std::optional<std::vector<llvm::MVT>> Registers::returned_in(llvm::Function& probed, llvm::Type* type,
                                                             llvm::CallingConv::ID convention,
                                                             bool variadic) {
  const llvm::TargetLowering& lowering = lowering_of(probed);
  llvm::SmallVector<llvm::ISD::OutputArg> out;
  llvm::GetReturnInfo(convention, type, llvm::AttributeList(), out, lowering, module_->getDataLayout());
  llvm::MachineFunction& machine = machines_->getOrCreateMachineFunction(probed);
  if (!lowering.CanLowerReturn(convention, machine, variadic, out, module_->getContext(), type))
    return std::nullopt;
  std::vector<llvm::MVT> registers;
  for (const llvm::ISD::OutputArg& each : out)
    registers.push_back(each.VT);
  return registers;
}

void Registers::add_leaves(const llvm::Function& probed, llvm::Type* type, llvm::CallingConv::ID convention,
                           std::vector<unsigned>& path, std::vector<Leaf>& leaves) const {
  if (type->isAggregateType()) {
    const unsigned count = type->isStructTy() ? type->getStructNumElements()
                                              : static_cast<unsigned>(type->getArrayNumElements());
    for (unsigned i = 0; i < count; ++i) {
      path.push_back(i);
      add_leaves(probed, llvm::GetElementPtrInst::getTypeAtIndex(type, uint64_t{i}), convention, path,
                 leaves);
      path.pop_back();
    }
    return;
  }
  const llvm::TargetLowering& lowering = lowering_of(probed);
  const llvm::EVT value = lowering.getValueType(module_->getDataLayout(), type, true);
  leaves.push_back(
      {path, type, lowering.getNumRegistersForCallingConv(module_->getContext(), convention, value)});
}

std::vector<Leaf> Registers::leaves_of(const llvm::Function& probed, llvm::Type* type,
                                       llvm::CallingConv::ID convention) const {
  std::vector<unsigned> path;
  std::vector<Leaf> leaves;
  add_leaves(probed, type, convention, path, leaves);
  return leaves;
}

static std::vector<llvm::Type*> pieces_of(const std::vector<Leaf>& leaves) {
  std::vector<llvm::Type*> pieces;
  for (const Leaf& leaf : leaves) {
    llvm::Type* piece = leaf.type;
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(leaf.type); vector && leaf.registers > 1)
      piece = leaf.registers == vector->getNumElements()
                  ? vector->getElementType()
                  : llvm::FixedVectorType::get(vector->getElementType(),
                                               vector->getNumElements() / leaf.registers);
    pieces.insert(pieces.end(), llvm::isa<llvm::FixedVectorType>(leaf.type) ? leaf.registers : 1, piece);
  }
  return pieces;
}

Result<Form> Registers::form_of(llvm::Function& probed, llvm::FunctionType* signature,
                                llvm::CallingConv::ID convention) {
  llvm::Type* type = signature->getReturnType();
  if (widest_vector(type) <= width_of_all)
    return Form();
  const std::optional<std::vector<llvm::MVT>> registers =
      returned_in(probed, type, convention, signature->isVarArg());
  if (!registers)
    return Form{Form::memory, llvm::Type::getVoidTy(type->getContext()), {}};
  std::vector<Leaf> leaves = leaves_of(probed, type, convention);
  if (llvm::all_of(leaves, [](const Leaf& leaf) { return leaf.registers == 1; }))
    return Form();
  Form form{Form::pieces, llvm::StructType::get(type->getContext(), pieces_of(leaves)), std::move(leaves)};
  if (returned_in(probed, form.type, convention, signature->isVarArg()) != registers)
    return make_error(ErrorKind::failed, "a returned vector in registers that have no type in IR");
  return form;
}

} // namespace xaas::ir
