// Problem: kernels number elements of several dimensions through, and get coordinates by division. LLVM
// vectorizes that with divisions and gathers.
//
//     i = blockIdx.x * blockDim.x + x                i = i0 + x
//     column = i % n, row = i / n
//     b[row * m + column] = a[row * m + column]
//
// becomes, if n is not small, a loop over segments of the threads' row, within which neighbouring threads
// have neighbouring columns:
//
//     for (s = 0; s < size; s = end) {
//       q = (i0 + s) / n, r = (i0 + s) % n
//       end = min(size, s + n - r)
//       for x in s .. end: b[q * m + r + (x - s)] = a[q * m + r + (x - s)]
//     }
//
// Approach: a division of an affine value with stride 1 (affine.h) by one that is the same for the whole row.
// A segment ends where any of the region's quotients changes. Shifts and masks by constants are divisions,
// too. Values are computed in 64 bits; rows in which one wraps or is negative, and those with a small
// divisor, run as they are.
//
// Rejected: cutting at multiples of small divisors. The loops would be shorter than a vector.
#include "quotients.h"
#include "affine.h"
#include "divisions.h"
#include "regions.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <map>
#include <optional>
#include <vector>

namespace xaas::cpukernel {

namespace {

using namespace llvm::PatternMatch;

// A segment is then at least two vectors of floats in AVX-512.
constexpr uint64_t least_divisor = 32;
constexpr size_t most_pairs = 8;

// Of a region, which the cut doubles.
constexpr size_t most_instructions = 2000;

struct Pair {
  llvm::Value *dividend, *divisor;
  bool is_signed;
  bool operator==(const Pair&) const = default;
};

struct Division {
  llvm::BinaryOperator* instruction;
  Pair pair;
  bool is_remainder;
};

llvm::Value* power_of_two(llvm::Type& type, uint64_t exponent) {
  return llvm::ConstantInt::get(
      &type, llvm::APInt::getOneBitSet(type.getIntegerBitWidth(), static_cast<unsigned>(exponent)));
}

// As find_quotient(), with divisors of any size.
std::optional<Quotient> find_any(llvm::BinaryOperator& operation) {
  llvm::Value *dividend = operation.getOperand(0), *divisor = operation.getOperand(1);
  llvm::Type& type = *operation.getType();
  const unsigned opcode = operation.getOpcode();
  const llvm::APInt* number = nullptr;
  switch (opcode) {
  case llvm::Instruction::SDiv:
  case llvm::Instruction::UDiv:
  case llvm::Instruction::SRem:
  case llvm::Instruction::URem:
    return Quotient{dividend, divisor_of(operation),
                    opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem,
                    opcode == llvm::Instruction::SRem || opcode == llvm::Instruction::URem};
  case llvm::Instruction::LShr:
  case llvm::Instruction::AShr:
    if (!match(divisor, m_APInt(number)) || number->uge(number->getBitWidth() - 1))
      return {};
    return Quotient{dividend, power_of_two(type, number->getZExtValue()), opcode == llvm::Instruction::AShr,
                    false};
  case llvm::Instruction::And:
    if (match(dividend, m_LowBitMask(number)))
      std::swap(dividend, divisor);
    if (!match(divisor, m_LowBitMask(number)) || number->isAllOnes() || number->isMaxSignedValue())
      return {};
    return Quotient{dividend, power_of_two(type, number->countr_one()), false, true};
  default:
    return {};
  }
}

// True if an address is computed from a value.
bool reaches_address(const llvm::Value& value) {
  llvm::SmallPtrSet<const llvm::Value*, 16> seen = {&value};
  llvm::SmallVector<const llvm::Value*, 8> left = {&value};
  while (!left.empty())
    for (const llvm::User* user : left.pop_back_val()->users()) {
      if (llvm::isa<llvm::GetElementPtrInst>(user))
        return true;
      if (llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::SelectInst, llvm::PHINode>(user) &&
          seen.insert(user).second)
        left.push_back(user);
    }
  return false;
}

class QuotientCutter {
public:
  QuotientCutter(llvm::Function& region, unsigned place)
      : region_(region), place_(place), values_(Place(region, place)) {}

  Segments run() {
    if (region_.getInstructionCount() > most_instructions)
      return {};
    for (llvm::Instruction& instruction : llvm::instructions(region_))
      if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
        add(*operation);
    for (const Division& division : divisions_)
      if (is_worth_it(division) && !llvm::is_contained(pairs_, division.pair))
        pairs_.push_back(division.pair);
    if (pairs_.empty() || pairs_.size() > most_pairs)
      return {};
    return {make_numbers(), make_core(), pairs_.size()};
  }

private:
  void add(llvm::BinaryOperator& operation) {
    const std::optional<Quotient> found = find_quotient(operation);
    if (!found)
      return;
    const std::optional<Affine> dividend = values_.find(found->dividend),
                                divisor = values_.find(found->divisor);
    if (dividend && dividend->coefficient == 1 && divisor && divisor->coefficient == 0)
      divisions_.push_back(
          {&operation, {found->dividend, found->divisor, found->is_signed}, found->is_remainder});
  }

  static bool is_worth_it(const Division& division) {
    return division.instruction->isIntDivRem() || reaches_address(*division.instruction);
  }

  llvm::Function* make_numbers() {
    llvm::LLVMContext& context = region_.getContext();
    std::vector<llvm::Type*> types = {llvm::Type::getInt1Ty(context)};
    types.insert(types.end(), 2 * pairs_.size(), llvm::Type::getInt64Ty(context));
    llvm::StructType* const type = llvm::StructType::get(context, types);
    llvm::Function* const numbers =
        declare_like(region_, ".numbers", type, {llvm::Type::getInt32Ty(context)});
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", numbers));
    ExactRow row(values_, builder,
                 builder.CreateZExt(numbers->getArg(numbers->arg_size() - 1), builder.getInt64Ty()));
    llvm::Value* result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < pairs_.size(); ++i) {
      const Pair& each = pairs_[i];
      llvm::Value *const dividend = row.first(each.dividend, each.is_signed), *const divisor =
                                                                                  row.first(each.divisor,
                                                                                            each.is_signed);
      const llvm::APInt most = llvm::APInt::getSignedMaxValue(each.divisor->getType()->getIntegerBitWidth());
      row.require(builder.CreateICmpSGE(dividend, builder.getInt64(0)));
      row.require(builder.CreateICmpSGE(divisor, builder.getInt64(least_divisor)));
      row.require(builder.CreateICmpSLE(divisor, builder.getInt(most.zext(64))));
      result = builder.CreateInsertValue(result, dividend, 2 * i + 1);
      result = builder.CreateInsertValue(result, divisor, 2 * i + 2);
    }
    builder.CreateRet(builder.CreateInsertValue(result, row.exact(), 0));
    return numbers;
  }

  llvm::Function* make_core() {
    llvm::LLVMContext& context = region_.getContext();
    std::vector<llvm::Type*> more = {llvm::Type::getInt32Ty(context)};
    more.insert(more.end(), 2 * pairs_.size(), llvm::Type::getInt64Ty(context));
    llvm::ValueToValueMapTy map;
    llvm::Function* const core = copy_region(region_, ".segment", map, more);
    const auto own = static_cast<unsigned>(region_.arg_size());
    llvm::IRBuilder<> builder(&*core->getEntryBlock().getFirstInsertionPt());
    llvm::Value* const place = builder.CreateSub(Place(*core, place_).x, core->getArg(own), "", true, true);
    std::map<std::pair<unsigned, bool>, llvm::Value*> known;
    for (const Division& division : divisions_) {
      llvm::Type* const type = division.instruction->getType();
      const auto pair = static_cast<unsigned>(llvm::find(pairs_, division.pair) - pairs_.begin());
      if (pair == pairs_.size())
        continue;
      llvm::Value*& value = known[{pair, division.is_remainder}];
      if (!value) {
        const unsigned number = own + 1 + 2 * pair;
        value = builder.CreateTrunc(core->getArg(number + (division.is_remainder ? 1 : 0)), type);
        if (division.is_remainder) // less than the divisor, which is no negative number of the type
          value = builder.CreateAdd(value, builder.CreateZExtOrTrunc(place, type), "", true, true);
      }
      auto* copy = llvm::cast<llvm::Instruction>(static_cast<llvm::Value*>(map[division.instruction]));
      copy->replaceAllUsesWith(value);
      copy->eraseFromParent();
    }
    for (const Pair& each : pairs_)
      forget_zero(each, map);
    return core;
  }

  // The guard's test for 0 (divisions.cpp) is false: the divisor is at least 32.
  static void forget_zero(const Pair& pair, llvm::ValueToValueMapTy& map) {
    if (llvm::isa<llvm::Constant>(pair.divisor))
      return;
    llvm::Value* const value = map[pair.divisor];
    for (llvm::User* user : llvm::make_early_inc_range(value->users()))
      if (match(user, m_SpecificICmp(llvm::CmpInst::ICMP_EQ, m_Specific(value), m_Zero())))
        user->replaceAllUsesWith(llvm::ConstantInt::getFalse(value->getContext()));
  }

  llvm::Function& region_;
  unsigned place_;
  AffineValues values_;
  std::vector<Division> divisions_;
  std::vector<Pair> pairs_; // for which the row is cut
};

} // namespace

std::optional<Quotient> find_quotient(llvm::BinaryOperator& operation) {
  if (!operation.getType()->isIntegerTy() || operation.getType()->getIntegerBitWidth() > 64)
    return {};
  std::optional<Quotient> found = find_any(operation);
  const auto* number = found ? llvm::dyn_cast<llvm::ConstantInt>(found->divisor) : nullptr;
  if (number && (number->isNegative() || number->getValue().ult(least_divisor)))
    return {};
  return found;
}

Segments cut_at_quotients(llvm::Function& region, unsigned place) {
  return QuotientCutter(region, place).run();
}

} // namespace xaas::cpukernel
