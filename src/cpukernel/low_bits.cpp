// Problem: LLVM 22 takes a check that an index of 32 bits does not wrap for one of its lower bits, too, and
// then vectorizes table[i % 8] as table[i] (llvm-project issue 191382).
//
//     for (i = 0; i < n; ++i) out[row + i] = table[i & 7];     row + i may wrap: a check; and i & 7 always
//     does
//
// Approach: the vectorizer sees lower bits only where the mask is a constant. So the constants in loops
// become results of empty inline assembly at the function's entry, which no analysis looks into. The loops
// are still vectorized. The function is called twice for a kernel: before LLVM's pipeline, and just before
// its loop vectorizer, because masks also come from other instructions (i << 29 >> 29, i - i / 8 * 8) and
// from loops that were unrolled.
#include <xaas/cpukernel/low_bits.h>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <map>
#include <vector>

namespace xaas::cpukernel {

namespace {

using namespace llvm::PatternMatch;

constexpr const char* constraints = "=r,0";

bool is_hidden(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const auto* assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && assembly->getAsmString().empty() && assembly->getConstraintString() == constraints &&
         call->doesNotAccessMemory() && llvm::isa<llvm::ConstantInt>(call->getArgOperand(0));
}

class Hider {
public:
  explicit Hider(llvm::Function& function) : function_(function) {}

  void run() {
    llvm::DominatorTree dominators(function_);
    const llvm::LoopInfo loops(dominators);
    std::vector<llvm::Instruction*> found;
    for (llvm::Instruction& instruction : llvm::instructions(function_))
      if (loops.getLoopFor(instruction.getParent()) && instruction.getType()->isIntegerTy() &&
          instruction.getType()->getIntegerBitWidth() <= 64)
        found.push_back(&instruction);
    for (llvm::Instruction* instruction : found)
      if (llvm::Value* result = hidden_form(*instruction)) {
        instruction->replaceAllUsesWith(result);
        instruction->eraseFromParent();
      }
  }

private:
  // A constant that nothing knows. Registers have 32 or 64 bits.
  llvm::Value* hidden(llvm::Type* type, uint64_t value) {
    const unsigned width = type->getIntegerBitWidth() <= 32 ? 32 : 64;
    llvm::Value*& known = known_[{width, value}];
    if (!known) {
      llvm::IRBuilder<> builder(&*function_.getEntryBlock().getFirstInsertionPt());
      llvm::Type* const own = builder.getIntNTy(width);
      llvm::CallInst* const call = builder.CreateCall(
          llvm::InlineAsm::get(llvm::FunctionType::get(own, {own}, false), "", constraints, false),
          {llvm::ConstantInt::get(own, value)});
      call->setDoesNotAccessMemory();
      call->setDoesNotThrow();
      call->addFnAttr(llvm::Attribute::WillReturn);
      known = call;
    }
    llvm::Value* result = known;
    if (type->getIntegerBitWidth() != width) {
      llvm::IRBuilder<> builder(llvm::cast<llvm::Instruction>(known)->getNextNode());
      result = builder.CreateTrunc(known, type);
    }
    return result;
  }

  llvm::Value* hidden_form(llvm::Instruction& instruction) {
    llvm::IRBuilder<> builder(&instruction);
    llvm::Type* const type = instruction.getType();
    llvm::Value* value = nullptr;
    const llvm::APInt* constant = nullptr;
    if (match(&instruction, m_And(m_Value(value), m_LowBitMask(constant))) && !constant->isAllOnes())
      return builder.CreateAnd(value, hidden(type, constant->getZExtValue()));
    if (match(&instruction, m_URem(m_Value(value), m_Power2(constant))))
      return builder.CreateAnd(value, hidden(type, constant->getZExtValue() - 1));
    if (match(&instruction, m_SRem(m_Value(value), m_Power2(constant))) && !constant->isNegative()) {
      // value - the multiple towards zero
      llvm::Value* const mask = hidden(type, constant->getZExtValue() - 1);
      llvm::Value* const sign = builder.CreateAShr(value, type->getIntegerBitWidth() - 1);
      llvm::Value* const biased = builder.CreateAdd(value, builder.CreateAnd(sign, mask));
      return builder.CreateSub(value, builder.CreateAnd(biased, builder.CreateNot(mask)));
    }
    const bool is_signed = match(&instruction, m_SExt(m_Trunc(m_Value(value))));
    if (!is_signed && !match(&instruction, m_ZExt(m_Trunc(m_Value(value)))))
      return nullptr;
    const unsigned bits = instruction.getOperand(0)->getType()->getIntegerBitWidth();
    const unsigned width = value->getType()->getIntegerBitWidth();
    if (bits >= 32 || bits == 1 || width > 64)
      return nullptr;
    if (!is_signed)
      return builder.CreateZExtOrTrunc(
          builder.CreateAnd(value, hidden(value->getType(), (uint64_t{1} << bits) - 1)), type);
    llvm::Value* const shift = hidden(value->getType(), width - bits);
    return builder.CreateSExtOrTrunc(builder.CreateAShr(builder.CreateShl(value, shift), shift), type);
  }

  llvm::Function& function_;
  std::map<std::pair<unsigned, uint64_t>, llvm::Value*> known_;
};

} // namespace

void hide_low_bits(llvm::Function& function) {
  if (!function.isDeclaration())
    Hider(function).run();
}

void show_low_bits(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function)))
    if (is_hidden(instruction)) {
      instruction.replaceAllUsesWith(llvm::cast<llvm::CallInst>(instruction).getArgOperand(0));
      instruction.eraseFromParent();
    }
}

} // namespace xaas::cpukernel
