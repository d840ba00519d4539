// Problem: say how an index or a bound of a region differs between neighbouring threads, before they run.
//
//     i = blockIdx.x * blockDim.x + x          1 * x + i(0)
//     j = 8 - i                               -1 * x + j(0)
//     k = (long)i                              1 * x + k(0), if i does not wrap in the row
//     s[i]                                     not of this kind: memory that threads write
//
// Approach: a walk over operands, to what no thread changes: the kernel's arguments, the block's size and
// index, values that are the same for all threads. No flag against wrapping (`nsw`) is trusted, because the
// value is computed where the kernel might not compute it; users of a form compare the ends of the row
// instead.
//
// Rejected: LLVM's ScalarEvolution, which gives up at extensions that it cannot prove not to wrap, and which
// knows loops, of which a region has none over threads yet.
#include "affine.h"
#include "divisions.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <utility>

namespace xaas::cpukernel {

namespace {

std::optional<int64_t> small_constant(const llvm::Value* value) {
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
  if (!number || number->getValue().getSignificantBits() > 32)
    return {};
  return number->getSExtValue();
}

// Multiples stay far from the limits of 64 bits.
constexpr int64_t largest_coefficient = int64_t{1} << 24;

} // namespace

Place::Place(llvm::Function& region, unsigned first)
    : block(region.getArg(first)), x(region.getArg(first + 1)), y(region.getArg(first + 2)),
      z(region.getArg(first + 3)), t(region.getArg(first + 4)) {}

bool AffineValues::is_constant_load(const llvm::LoadInst& load) const {
  // Of the block, or of a structure that the launch passes by value. The place is constant, so that reading
  // it is safe where the kernel would not.
  llvm::APInt offset(64, 0);
  const llvm::Value* const base =
      load.getPointerOperand()->stripAndAccumulateConstantOffsets(load.getDataLayout(), offset, true);
  const auto* parameter = llvm::dyn_cast<llvm::Argument>(base);
  if (!load.isSimple() || !parameter)
    return false;
  if (parameter == place_.block)
    return true;
  const llvm::Attribute structure =
      parameter->getParent()->getAttributes().getParamAttr(parameter->getArgNo(), structure_attribute);
  uint64_t size = 0;
  if (!structure.isValid() || !llvm::to_integer(structure.getValueAsString(), size))
    return false;
  const uint64_t read = load.getDataLayout().getTypeStoreSize(load.getType()).getFixedValue();
  return !offset.isNegative() && read <= size && offset.ule(size - read);
}

std::optional<Affine> AffineValues::find(llvm::Value* value) {
  if (const auto found = known_.find(value); found != known_.end())
    return found->second;
  known_[value] = std::nullopt; // of a cycle
  std::optional<Affine> result = find_new(value);
  known_[value] = result;
  return result;
}

std::optional<Affine> AffineValues::find_new(llvm::Value* value) {
  if (value == place_.x || value == place_.t)
    return Affine{1};
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction)
    return Affine{};
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    const std::optional<Affine> pointer = find(instruction->getOperand(0));
    return pointer && pointer->coefficient == 0 && is_constant_load(*load) ? pointer : std::nullopt;
  }
  if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::GetElementPtrInst, llvm::CmpInst,
                 llvm::SelectInst, llvm::FreezeInst, llvm::MinMaxIntrinsic>(instruction))
    return {};
  std::vector<Affine> operands;
  Affine result;
  bool varies = false;
  for (llvm::Use& operand : instruction->operands()) {
    if (llvm::isa<llvm::CallBase>(instruction) && llvm::isa<llvm::Function>(operand))
      continue;
    const std::optional<Affine> form = find(operand);
    if (!form)
      return {};
    varies |= form->coefficient != 0;
    for (const Affine::Cast& cast : form->casts)
      if (llvm::none_of(result.casts, [&](const Affine::Cast& known) { return known == cast; }))
        result.casts.push_back(cast);
    operands.push_back(*form);
  }
  if (!varies) { // whatever it is
    if (!is_speculatable(*instruction))
      return {};
    return result;
  }
  if (!instruction->getType()->isIntegerTy())
    return {};
  switch (instruction->getOpcode()) {
  case llvm::Instruction::Add:
    result.coefficient = operands[0].coefficient + operands[1].coefficient;
    break;
  case llvm::Instruction::Sub:
    result.coefficient = operands[0].coefficient - operands[1].coefficient;
    break;
  case llvm::Instruction::Mul:
    for (unsigned i = 0; i < 2; ++i)
      if (const std::optional<int64_t> factor = small_constant(instruction->getOperand(1 - i)))
        if (std::abs(*factor) <= largest_coefficient)
          result.coefficient = operands[i].coefficient * *factor;
    if (result.coefficient == 0)
      return {};
    break;
  case llvm::Instruction::Shl: {
    const std::optional<int64_t> bits = small_constant(instruction->getOperand(1));
    if (!bits || *bits < 0 || *bits > 24)
      return {};
    result.coefficient = operands[0].coefficient << *bits;
    break;
  }
  case llvm::Instruction::SExt:
  case llvm::Instruction::ZExt:
    result.coefficient = operands[0].coefficient;
    result.casts.push_back({instruction->getOperand(0), result.coefficient,
                            instruction->getOpcode() == llvm::Instruction::SExt});
    break;
  case llvm::Instruction::Trunc:
  case llvm::Instruction::Freeze:
    result.coefficient = operands[0].coefficient;
    break;
  default:
    return {};
  }
  if (std::abs(result.coefficient) > largest_coefficient)
    return {};
  return result;
}

llvm::Value* AffineValues::first(llvm::Value* value, llvm::IRBuilderBase& builder,
                                 llvm::DenseMap<llvm::Value*, llvm::Value*>& known) {
  if (const auto found = known.find(value); found != known.end())
    return found->second;
  llvm::Function* const function = builder.GetInsertBlock()->getParent();
  llvm::Value* result = value;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
    result = function->getArg(argument->getArgNo());
    if (value == place_.x)
      result = llvm::ConstantInt::get(value->getType(), 0);
  } else if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(value)) {
    llvm::Instruction* copy = instruction->clone();
    copy->dropPoisonGeneratingFlags();
    for (llvm::Use& operand : copy->operands())
      operand.set(first(operand, builder, known));
    result = builder.Insert(copy);
    // Without flags, too, a shift by too many bits is poison. A division and its guard must see one value.
    if (llvm::canCreateUndefOrPoison(llvm::cast<llvm::Operator>(copy), false))
      result = builder.CreateFreeze(result);
  }
  known[value] = result;
  return result;
}

ExactRow::ExactRow(AffineValues& values, llvm::IRBuilderBase& builder, llvm::Value* size)
    : values_(values), builder_(builder), size_(size), exact_(builder.getTrue()) {}

llvm::Value* ExactRow::first(llvm::Value* value, bool is_signed) {
  const Affine form = *values_.find(value);
  for (const Affine::Cast& cast : form.casts)
    if (cast.coefficient != 0)
      require_range(cast.value, extended(cast.value, cast.is_signed), cast.coefficient, cast.is_signed);
  llvm::Value* const result = extended(value, is_signed);
  require_range(value, result, form.coefficient, is_signed);
  return result;
}

void ExactRow::require(llvm::Value* condition) {
  exact_ = builder_.CreateAnd(exact_, condition);
}

llvm::Value* ExactRow::first_of(llvm::Value& value) {
  return builder_.CreateFreeze(values_.first(&value, builder_, known_));
}

llvm::Value* ExactRow::extended(llvm::Value* value, bool is_signed) {
  llvm::Value* const narrow = first_of(*value);
  return is_signed ? builder_.CreateSExt(narrow, builder_.getInt64Ty())
                   : builder_.CreateZExt(narrow, builder_.getInt64Ty());
}

// Threads of a row see first + coefficient * x without wrapping around.
void ExactRow::require_range(llvm::Value* value, llvm::Value* first, int64_t coefficient, bool is_signed) {
  const unsigned bits = std::min(value->getType()->getIntegerBitWidth(), 62u);
  const llvm::APInt least = is_signed ? llvm::APInt::getSignedMinValue(bits).sext(64) : llvm::APInt(64, 0);
  const llvm::APInt most =
      is_signed ? llvm::APInt::getSignedMaxValue(bits).zext(64) : llvm::APInt::getMaxValue(bits).zext(64);
  llvm::Value* const end =
      builder_.CreateAdd(first, builder_.CreateMul(size_, builder_.getInt64(coefficient)));
  for (llvm::Value* each : {first, end})
    require(builder_.CreateAnd(builder_.CreateICmpSGE(each, builder_.getInt(least)),
                               builder_.CreateICmpSLE(each, builder_.getInt(most))));
}

} // namespace xaas::cpukernel
