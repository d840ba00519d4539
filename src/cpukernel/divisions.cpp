// Problem: an integer division by 0, and that of the smallest number by -1, end a program on x86-64 by a
// signal. NVIDIA's GPUs go on, with all bits 1 for the first (PTX ISA, "div": the value is unspecified) and
// the smallest number, or the remainder 0, for the second. A program may run such a division for threads
// whose result it does not use.
//
//     x / y        y == 0 ? -1 : x / (y == 0 || (x == INT_MIN && y == -1) ? 1 : y)
//
// Approach: the divisor becomes 1 where the division would have no result. Where the divisor is the same for
// all threads, the loop over the threads does not compute any of that again; with different divisors, a loop
// of divisions alone takes 3 to 5 % longer on Zen 5. On AArch64, whose divisions by 0 give 0, it is done for
// the same result.
//
// Rejected: a handler for SIGFPE, which the program may have itself, and which cannot continue vectorized
// code.
#include "divisions.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <optional>
#include <vector>

namespace xaas::cpukernel {

namespace {

using namespace llvm::PatternMatch;

bool is_signed(const llvm::BinaryOperator& division) {
  return division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::SRem;
}

// One value wherever the divisor is used: the guard's answer must hold for the division.
class Divisors {
public:
  llvm::Value* fixed(llvm::Value& divisor) {
    if (llvm::isGuaranteedNotToBeUndefOrPoison(&divisor))
      return &divisor;
    llvm::Value*& known = known_[&divisor];
    if (known)
      return known;
    std::optional<llvm::BasicBlock::iterator> at;
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(&divisor))
      at = instruction->getInsertionPointAfterDef();
    else if (auto* argument = llvm::dyn_cast<llvm::Argument>(&divisor))
      at = argument->getParent()->getEntryBlock().getFirstInsertionPt();
    if (!at)
      return known = &divisor;
    auto* const frozen = new llvm::FreezeInst(&divisor, "", *at);
    divisor.replaceUsesWithIf(frozen, [&](const llvm::Use& use) { return use.getUser() != frozen; });
    return known = frozen;
  }

private:
  llvm::DenseMap<llvm::Value*, llvm::Value*> known_;
};

void guard(llvm::BinaryOperator& division, Divisors& divisors) {
  llvm::Value *const x = division.getOperand(0), *const y = divisors.fixed(*division.getOperand(1));
  llvm::Type* const type = division.getType();
  const bool is_never_zero =
      llvm::isKnownNonZero(y, llvm::SimplifyQuery(division.getModule()->getDataLayout(), &division));
  const llvm::APInt* constant = nullptr;
  const bool may_overflow = is_signed(division) && !(match(y, m_APInt(constant)) && !constant->isAllOnes());
  if (is_never_zero && !may_overflow)
    return;
  llvm::IRBuilder<> builder(&division);
  llvm::Value* const ones = llvm::Constant::getAllOnesValue(type);
  llvm::Value* is_zero = nullptr;
  llvm::Value* has_no_result = nullptr;
  if (!is_never_zero)
    has_no_result = is_zero = builder.CreateICmpEQ(y, llvm::Constant::getNullValue(type));
  if (may_overflow) {
    llvm::Value* const smallest = llvm::ConstantInt::get(
        type, llvm::APInt::getSignedMinValue(type->getScalarType()->getIntegerBitWidth()));
    llvm::Value* const overflows =
        builder.CreateAnd(builder.CreateICmpEQ(x, smallest), builder.CreateICmpEQ(y, ones));
    has_no_result = has_no_result ? builder.CreateOr(has_no_result, overflows) : overflows;
  }
  division.setOperand(1, builder.CreateSelect(has_no_result, llvm::ConstantInt::get(type, 1), y));
  if (!is_zero)
    return;
  builder.SetInsertPoint(division.getNextNode());
  auto* const result = llvm::SelectInst::Create(is_zero, ones, &division, "", builder.GetInsertPoint());
  division.replaceUsesWithIf(result, [&](const llvm::Use& use) { return use.getUser() != result; });
}

// What guard() has made. Where the divisor was known not to be 0, it does not test that.
struct Guard {
  llvm::Value* divisor; // before it was guarded
  bool against_zero, against_overflow;
};

std::optional<Guard> guard_of(const llvm::BinaryOperator& division) {
  llvm::Value *const x = division.getOperand(0), *condition = nullptr, *y = nullptr;
  if (!match(division.getOperand(1), m_Select(m_Value(condition), m_One(), m_Value(y))))
    return {};
  const auto is_zero = m_SpecificICmp(llvm::CmpInst::ICMP_EQ, m_Specific(y), m_Zero());
  const auto overflows = m_c_And(m_SpecificICmp(llvm::CmpInst::ICMP_EQ, m_Specific(x), m_SignMask()),
                                 m_SpecificICmp(llvm::CmpInst::ICMP_EQ, m_Specific(y), m_AllOnes()));
  if (match(condition, m_c_Or(is_zero, overflows)))
    return Guard{y, true, true};
  if (match(condition, is_zero))
    return Guard{y, true, false};
  if (match(condition, overflows))
    return Guard{y, false, true};
  return {};
}

} // namespace

void guard_divisions(llvm::Function& function) {
  std::vector<llvm::BinaryOperator*> divisions;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* division = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
      if (division->isIntDivRem())
        divisions.push_back(division);
  Divisors divisors;
  for (llvm::BinaryOperator* division : divisions)
    guard(*division, divisors);
}

llvm::Value* divisor_of(const llvm::BinaryOperator& division) {
  const std::optional<Guard> guard = guard_of(division);
  return guard ? guard->divisor : division.getOperand(1);
}

bool is_speculatable(const llvm::Instruction& instruction) {
  if (llvm::isSafeToSpeculativelyExecute(&instruction))
    return true;
  const auto* division = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
  if (!division || !division->isIntDivRem())
    return false;
  const std::optional<Guard> guard = guard_of(*division);
  return guard && guard->against_zero && (guard->against_overflow || !is_signed(*division));
}

} // namespace xaas::cpukernel
