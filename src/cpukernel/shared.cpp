#include "shared.h"
#include "lockstep.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace xaas::cpukernel {

namespace {

// Each scalar of a constant, before an instruction.
void store_constant(const llvm::Constant& value, llvm::Value& place, uint64_t offset,
                    llvm::Instruction& before) {
  const llvm::DataLayout& layout = before.getModule()->getDataLayout();
  llvm::Type* const type = value.getType();
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      store_constant(*value.getAggregateElement(i), place,
                     offset + layout.getStructLayout(structure)->getElementOffset(i).getFixedValue(), before);
  } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    for (unsigned i = 0; i < array->getNumElements(); ++i)
      store_constant(*value.getAggregateElement(i), place,
                     offset + i * layout.getTypeAllocSize(array->getElementType()).getFixedValue(), before);
  } else {
    llvm::IRBuilder<> builder(&before);
    builder.CreateStore(const_cast<llvm::Constant*>(&value),
                        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &place, offset));
  }
}

llvm::SmallPtrSet<const llvm::GlobalVariable*, 8>
variables_of(const std::vector<llvm::Function*>& functions) {
  llvm::SmallPtrSet<const llvm::GlobalVariable*, 8> used;
  for (const llvm::Function* function : functions)
    for (const llvm::Instruction& instruction : llvm::instructions(*function))
      for (const llvm::Value* operand : instruction.operands())
        if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(operand))
          used.insert(variable);
  return used;
}

} // namespace

bool is_shared(const llvm::Value* value, const SharedVariables& shared) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value);
  return variable &&
         (llvm::is_contained(shared.fixed, variable) || llvm::is_contained(shared.dynamic, variable));
}

bool names_shared(const llvm::Value* value, const SharedVariables& shared) {
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  llvm::SmallVector<const llvm::Value*, 8> left = {value};
  while (!left.empty()) {
    const auto* each = llvm::dyn_cast<llvm::Constant>(left.pop_back_val());
    if (!each || llvm::isa<llvm::Function>(each) || !seen.insert(each).second)
      continue;
    if (is_shared(each, shared))
      return true;
    llvm::append_range(left, each->operands()); // of a variable: its value
  }
  return false;
}

bool names_shared_in_memory(const llvm::Function& function, const SharedVariables& shared) {
  return llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
    return llvm::any_of(instruction.operands(), [&](const llvm::Use& operand) {
      return !is_shared(operand, shared) && names_shared(operand, shared);
    });
  });
}

void expand_copies(llvm::Module& module, const SharedVariables& shared) {
  const llvm::DataLayout& layout = module.getDataLayout();
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction);
      const auto* source = copy ? llvm::dyn_cast<llvm::GlobalVariable>(copy->getSource()) : nullptr;
      if (!source || is_shared(source, shared) || !source->hasInitializer() || !names_shared(source, shared))
        continue;
      const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
      if (!length || length->getZExtValue() != layout.getTypeAllocSize(source->getValueType()))
        continue;
      store_constant(*source->getInitializer(), *copy->getDest(), 0, *copy);
      copy->eraseFromParent();
    }
}

void expand_moves(llvm::Function& function) {
  constexpr uint64_t most_bytes = 64;
  const llvm::DataLayout& layout = function.getDataLayout();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction);
    const auto* length = copy ? llvm::dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
    if (!length || copy->isVolatile() || length->getValue().ugt(most_bytes))
      continue;
    const llvm::Value* const base = shared_address(copy->getSource(), layout).base;
    if (!base || shared_address(copy->getDest(), layout).base != base)
      continue;
    const llvm::Align align =
        std::min({copy->getSourceAlign().valueOrOne(), copy->getDestAlign().valueOrOne(), llvm::Align(8)});
    llvm::IRBuilder<> builder(copy);
    llvm::SmallVector<llvm::Value*, 16> values;
    const auto pieces = [&](auto&& visit) {
      for (uint64_t at = 0; at < length->getZExtValue();) {
        uint64_t size = align.value();
        while (size > length->getZExtValue() - at)
          size /= 2;
        visit(at, builder.getIntNTy(static_cast<unsigned>(size * 8)), llvm::Align(size));
        at += size;
      }
    };
    pieces([&](uint64_t at, llvm::Type* type, llvm::Align own) {
      llvm::Value* const place =
          builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), copy->getSource(), at);
      values.push_back(builder.CreateAlignedLoad(type, place, own));
    });
    size_t next = 0;
    pieces([&](uint64_t at, llvm::Type*, llvm::Align own) {
      llvm::Value* const place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), copy->getDest(), at);
      builder.CreateAlignedStore(values[next++], place, own);
    });
    copy->eraseFromParent();
  }
}

uint64_t place_fixed(const std::vector<llvm::Function*>& functions, const SharedVariables& shared,
                     SharedPlaces& places, uint64_t end) {
  const auto used = variables_of(functions);
  for (llvm::GlobalVariable* variable : shared.fixed) {
    if (!used.contains(variable) || places.contains(variable))
      continue;
    end = llvm::alignTo(end, std::max<uint64_t>(variable->getAlign().valueOrOne().value(), 16));
    places[variable] = end;
    end += variable->getParent()->getDataLayout().getTypeAllocSize(variable->getValueType());
  }
  return end;
}

uint64_t place_shared(const std::vector<llvm::Function*>& functions, const SharedVariables& shared,
                      SharedPlaces& places, uint64_t end) {
  const uint64_t bytes = llvm::alignTo(place_fixed(functions, shared, places, end), 256);
  const auto used = variables_of(functions);
  for (llvm::GlobalVariable* variable : shared.dynamic)
    if (used.contains(variable))
      places[variable] = bytes;
  return bytes;
}

} // namespace xaas::cpukernel
