// Problem: find the places at which a thread waits for others, and whether all threads of a block come to the
// same ones.
//
//     s[t] = a[t];                          node 0: the kernel's entry
//     __syncthreads();                      node 1, for the block
//     for (w = 32; w > 0; w /= 2) {
//       if (t < w) s[t] += s[t + w];
//       __syncthreads();                    node 2, for the block
//     }
//     x = __shfl_sync(mask, y, 0);          publishes y; nodes 3 and 4, for the warp; the read is between
//
// Approach: the code is cut before each such place, so that a node is a basic block that only stopping
// threads reach. A value for other threads is stored before the first node and read after it; the second node
// keeps a thread from publishing the next value before all have read this one.
//
// If no branch that threads may take differently decides over a node, the block's threads agree on all nodes,
// and one loop over the threads per node suffices (uniformity.cpp).
//
// Threads of a warp that read each other's volatile shared memory without synchronizing rely on lockstep,
// which every GPU before sm_70 had. Volatile accesses are therefore nodes, too, where one may see another's
// effect: lockstep is one of the orders in which threads may run.
#include "nodes.h"
#include "library.h"
#include "uniformity.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>
#include <optional>
#include <set>

namespace xaas::cpukernel {

namespace {

// An intrinsic at which threads meet.
struct Rule {
  Meeting meeting;
  int published = -1; // the operand that the other threads read, if any
  int mask = -1;      // the operand that names the lanes
};

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

bool may_be_shared(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  return llvm::any_of(objects,
                      [](const llvm::Value* object) { return llvm::isa<llvm::GlobalVariable>(object); });
}

class Cutter {
public:
  explicit Cutter(llvm::Function& kernel) : kernel_(kernel) {}

  Result<Nodes> run() {
    XAAS_CHECK(refuse_what_is_unknown());
    find_conflicts();
    result_.nodes.push_back({&kernel_.getEntryBlock(), Meeting::split});
    for (llvm::CallBase* call : calls_)
      cut_at(*call);
    for (llvm::Instruction* access : conflicts_)
      add_node(*access, Meeting::split);
    decide();
    return std::move(result_);
  }

private:
  static Error unsatisfied(const std::string& what) { return make_error(ErrorKind::unsatisfied, what); }

  Result<void> refuse_what_is_unknown() {
    for (llvm::Instruction& instruction : llvm::instructions(kernel_)) {
      if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
          variable && !variable->isStaticAlloca())
        return unsatisfied("a variable whose size is not known before the kernel runs");
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call)
        continue;
      if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
        return unsatisfied("inline assembly: " + assembly->getAsmString().str());
      const llvm::Function* callee = callee_of(*call);
      if (!callee)
        continue;
      const std::string name = intrinsic_name(*callee);
      if (name.empty()) {
        if (is_missing(*callee))
          return unsatisfied("a call of " + callee->getName().str() + ", which has no code for a CPU");
        continue;
      }
      if (rule_of(name)) {
        if (!kernel_.getParent()->getFunction(warp_prefix + value_name(name)) && published(name))
          return unsatisfied("the intrinsic " + callee->getName().str());
        calls_.push_back(call);
      } else if (!kernel_.getParent()->getFunction(thread_prefix + name)) {
        return unsatisfied("the intrinsic " + callee->getName().str());
      }
    }
    return {};
  }

  static bool published(llvm::StringRef name) { return rule_of(name)->published >= 0; }

  // shfl_sync_up_i32p is shfl_sync_up_i32 and whether the lane was in range; match_all_sync_i32p alike.
  static std::string value_name(llvm::StringRef name) {
    if (name.starts_with("shfl_sync_") || name.starts_with("match_all_sync_"))
      name.consume_back("p");
    return name.str();
  }

  void cut_at(llvm::CallBase& call) {
    const Rule rule = *rule_of(intrinsic_name(*callee_of(call)));
    llvm::IRBuilder<> builder(&call);
    if (rule.mask >= 0)
      builder.CreateStore(call.getArgOperand(static_cast<unsigned>(rule.mask)),
                          variable(result_.lanes, builder.getInt32Ty()));
    if (rule.published >= 0) {
      llvm::Value* value = call.getArgOperand(static_cast<unsigned>(rule.published));
      if (value->getType()->isFloatTy())
        value = builder.CreateBitCast(value, builder.getInt32Ty());
      const bool is_predicate = value->getType()->isIntegerTy(1);
      value = builder.CreateZExt(value, builder.getInt64Ty());
      if (is_predicate) // 1 or 2; library/thread.c
        value = builder.CreateAdd(value, builder.getInt64(1));
      builder.CreateStore(value, variable(result_.published, builder.getInt64Ty()));
    }
    add_node(call, rule.meeting);
    if (rule.published >= 0)
      add_node(*call.getNextNode(), rule.meeting);
    else
      call.eraseFromParent();
  }

  llvm::AllocaInst* variable(llvm::AllocaInst*& known, llvm::Type* type) {
    if (!known)
      known = llvm::IRBuilder<>(&*kernel_.getEntryBlock().begin()).CreateAlloca(type);
    return known;
  }

  void add_node(llvm::Instruction& first, Meeting meeting) {
    result_.nodes.push_back({llvm::SplitBlock(first.getParent(), &first), meeting});
  }

  // Volatile accesses of shared memory that may see another thread's, with no other node between them.
  void find_conflicts() {
    std::map<const llvm::BasicBlock*, Pending> at_end;
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock& block : kernel_) {
        Pending pending;
        for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
          const Pending& other = at_end[before];
          pending.loads |= other.loads;
          pending.stores |= other.stores;
        }
        for (llvm::Instruction& instruction : block)
          step(instruction, pending);
        Pending& known = at_end[&block];
        changed |= known.loads != pending.loads || known.stores != pending.stores;
        known = pending;
      }
    }
  }

  struct Pending {
    bool loads = false, stores = false;
  };

  void step(llvm::Instruction& instruction, Pending& pending) {
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        call && callee_of(*call) && rule_of(intrinsic_name(*callee_of(*call))))
      pending = {};
    const bool is_load = llvm::isa<llvm::LoadInst>(instruction);
    if (!instruction.isVolatile() || !llvm::getLoadStorePointerOperand(&instruction) ||
        !may_be_shared(llvm::getLoadStorePointerOperand(&instruction)))
      return;
    if ((is_load ? pending.stores : pending.loads) || conflicts_set_.contains(&instruction)) {
      if (conflicts_set_.insert(&instruction).second)
        conflicts_.push_back(&instruction);
      pending = {};
    }
    (is_load ? pending.loads : pending.stores) = true;
  }

  // Whether the threads agree.
  void decide() {
    if (result_.nodes.size() == 1)
      return;
    const Uniformity uniformity(kernel_);
    for (const Node& node : result_.nodes) {
      if (!uniformity.divergent_blocks().contains(node.entry))
        continue;
      result_.agree = false;
      result_.reason = conflicts_.empty() ? "threads may come to different barriers"
                                          : "threads of a warp rely on running in lockstep";
      return;
    }
  }

  llvm::Function& kernel_;
  Nodes result_;
  std::vector<llvm::CallBase*> calls_;
  std::vector<llvm::Instruction*> conflicts_;
  llvm::SmallPtrSet<const llvm::Instruction*, 8> conflicts_set_;
};

} // namespace

bool depends_on_thread(const llvm::CallBase& call) {
  const llvm::Function* callee = callee_of(call);
  if (!callee)
    return true;
  const std::string name = intrinsic_name(*callee);
  if (name.empty())
    return !callee->isIntrinsic() && !callee->doesNotAccessMemory();
  static const llvm::StringLiteral of_block[] = {
      "ntid_", "ctaid_", "nctaid_", "warpsize",        "nwarpid",
      "smid",  "nsmid",  "gridid",  "total_smem_size", "dynamic_smem_size"};
  llvm::StringRef part = name;
  if (part.consume_front("read_ptx_sreg_"))
    return llvm::none_of(of_block, [&](llvm::StringRef each) { return part.starts_with(each); });
  return !part.starts_with("barrier_cta_red_");
}

Result<Nodes> find_nodes(llvm::Function& kernel) {
  return Cutter(kernel).run();
}

} // namespace xaas::cpukernel
