#include "facts.h"
#include "library.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

namespace xaas::cpukernel {

namespace {

void mark_unchanging(llvm::Value& pointer) {
  for (llvm::User* user : pointer.users())
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
    } else if (llvm::isa<llvm::GetElementPtrInst>(user)) {
      mark_unchanging(*user);
    }
}

bool is_only_read(const llvm::Value& pointer) {
  return llvm::all_of(pointer.users(), [&pointer](const llvm::User* user) {
    if (llvm::isa<llvm::LoadInst>(user))
      return true;
    if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user))
      return copy->getRawDest() != &pointer;
    return llvm::isa<llvm::GetElementPtrInst>(user) && is_only_read(*user);
  });
}

} // namespace

void copy_changed_structures(llvm::Function& kernel) {
  for (llvm::Argument& parameter : kernel.args()) {
    if (!parameter.hasByValAttr() || is_only_read(parameter))
      continue;
    llvm::IRBuilder<> builder(&*kernel.getEntryBlock().getFirstInsertionPt());
    llvm::AllocaInst* copy = builder.CreateAlloca(parameter.getParamByValType());
    copy->setAlignment(parameter.getParamAlign().valueOrOne());
    parameter.replaceAllUsesWith(copy);
    builder.CreateMemCpy(copy, copy->getAlign(), &parameter, parameter.getParamAlign(),
                         kernel.getDataLayout().getTypeAllocSize(parameter.getParamByValType()));
  }
}

void mark_structures(llvm::Function& kernel) {
  for (llvm::Argument& parameter : kernel.args())
    if (parameter.hasByValAttr())
      mark_unchanging(parameter);
}

void mark_indices(llvm::Function& kernel) {
  using namespace llvm::PatternMatch;
  const auto is_register = [](const llvm::Value* value, llvm::StringRef name) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(value);
    return call && callee_of(*call) && intrinsic_name(*callee_of(*call)) == "read_ptx_sreg_" + name.str();
  };
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    llvm::Value *block = nullptr, *size = nullptr, *thread = nullptr;
    llvm::BinaryOperator* product = nullptr;
    if (!match(&instruction, m_c_Add(m_CombineAnd(m_BinOp(product), m_Mul(m_Value(block), m_Value(size))),
                                     m_Value(thread))))
      continue;
    for (const char* dimension : {"x", "y", "z"}) {
      const std::string d = dimension;
      if (!is_register(thread, "tid_" + d))
        continue;
      if ((is_register(block, "ctaid_" + d) && is_register(size, "ntid_" + d)) ||
          (is_register(size, "ctaid_" + d) && is_register(block, "ntid_" + d)))
        for (llvm::Instruction* each : {static_cast<llvm::Instruction*>(product), &instruction}) {
          each->setHasNoSignedWrap(true);
          each->setHasNoUnsignedWrap(true);
        }
    }
  }
}

} // namespace xaas::cpukernel
