// The table of intrinsics that need other threads, and what becomes of their operands and results.
#include "meetings.h"
#include "library.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace xaas::cpukernel {

namespace {

std::optional<Rule> rule_of(llvm::StringRef name) {
  if (name == "barrier_cta_sync_aligned_all" || name == "barrier_cta_sync_all")
    return Rule{Meeting::block};
  if (name.starts_with("barrier_cta_red_") && name.ends_with("_all"))
    return Rule{Meeting::block, 1};
  if (name == "bar_warp_sync")
    return Rule{Meeting::warp, -1, 0};
  if (name.starts_with("shfl_sync_") || (name.starts_with("vote_") && name.ends_with("_sync")) ||
      name.starts_with("match_any_sync_") || name.starts_with("match_all_sync_"))
    return Rule{Meeting::warp, 1, 0};
  if (name.starts_with("redux_sync_"))
    return Rule{Meeting::warp, 0, 1};
  return {};
}

std::string name_of(const llvm::CallBase& call) {
  const llvm::Function* callee = callee_of(call);
  return callee ? intrinsic_name(*callee) : std::string();
}

// shfl_sync_up_i32p is shfl_sync_up_i32 and whether the lane was in range; match_all_sync_i32p alike.
std::string value_name(llvm::StringRef name) {
  if (name.starts_with("shfl_sync_") || name.starts_with("match_all_sync_"))
    name.consume_back("p");
  return name.str();
}

} // namespace

std::optional<Rule> meeting_of(const llvm::CallBase& call) {
  return rule_of(name_of(call));
}

bool is_counted_barrier(const llvm::CallBase& call) {
  const std::string whole = name_of(call);
  const llvm::StringRef name = whole;
  return name.starts_with("barrier_cta_") && name.ends_with("_count");
}

llvm::Value* published_value(llvm::IRBuilder<>& builder, llvm::Value& published) {
  llvm::Value* value = &published;
  if (value->getType()->isFloatTy())
    value = builder.CreateBitCast(value, builder.getInt32Ty());
  const unsigned width = value->getType()->getIntegerBitWidth();
  value = builder.CreateZExt(value, builder.getInt64Ty());
  if (width == 1) // not 0, which is that of a thread that has ended; library/thread.c
    value = builder.CreateAdd(value, builder.getInt64(1));
  else if (width == 32)
    value = builder.CreateOr(value, builder.getInt64(uint64_t{1} << 32));
  return value;
}

llvm::Value* read_published(llvm::IRBuilder<>& builder, llvm::CallInst& call, llvm::Value& values,
                            llvm::Value& block, llvm::Value& thread) {
  const llvm::Module& module = *call.getModule();
  const std::string name = value_name(name_of(call));
  std::vector<llvm::Value*> arguments = {&values, &block, &thread};
  arguments.insert(arguments.end(), call.arg_begin(), call.arg_end());
  llvm::Value* value = builder.CreateCall(module.getFunction(warp_prefix + name), arguments);
  if (!call.getType()->isStructTy())
    return value;
  const std::string kind = name.substr(0, name.rfind('_')); // shfl_sync_up
  llvm::Function* const in_range = module.getFunction("xaas_in_range_" + kind);
  llvm::Value* const second =
      in_range ? builder.CreateCall(in_range, {&thread, call.getArgOperand(2), call.getArgOperand(3)})
               : builder.CreateICmpNE(value, builder.getInt32(0)); // match_all_sync
  llvm::Value* both = builder.CreateInsertValue(llvm::PoisonValue::get(call.getType()), value, 0);
  return builder.CreateInsertValue(both, second, 1);
}

std::string unknown_call(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call)
    return {};
  if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
    return "inline assembly: " + assembly->getAsmString().str();
  const llvm::Function* callee = callee_of(*call);
  if (!callee)
    return {};
  const std::string name = intrinsic_name(*callee);
  if (name.empty())
    return is_missing(*callee) ? "a call of " + callee->getName().str() + ", which has no code for a CPU"
                               : std::string();
  const std::optional<Rule> rule = rule_of(name);
  const llvm::Module& module = *call->getModule();
  const bool known = rule ? rule->published < 0 || module.getFunction(warp_prefix + value_name(name))
                          : is_counted_barrier(*call) || module.getFunction(thread_prefix + name);
  return known ? std::string() : "the intrinsic " + callee->getName().str();
}

bool is_of_unknown_size(const llvm::Instruction& instruction) {
  const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
  return variable && !variable->isStaticAlloca();
}

} // namespace xaas::cpukernel
