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
// A loop in which a thread waits until another one has written (waits.cpp) has a node at its end, so that the
// other one runs.
//
// If no branch that threads may take differently decides over a node, and no loop waits, the block's threads
// agree on all nodes, and one loop over the threads per node suffices (uniformity.cpp).
//
// Threads of a warp that read each other's shared memory without synchronizing rely on lockstep, which every
// GPU before sm_70 had, and which later ones often have. Lockstep is one of the orders in which threads may
// run, so accesses are nodes, too, where one may see another's effect: volatile ones; and others whose
// addresses neighbouring threads share, as the last steps of a reduction,
//
//     if (t < 16) { s[t] += s[t + 16]; s[t] += s[t + 8]; ... }
//
// in which a store is to 8 * t + c1, and a load after it from 8 * t + c2 (lockstep.cpp). Only if some load of
// a variable follows such a store, is a store after such a load a node, too; else the steps of a reduction
// with barriers (s[t] += s[t + w], where t < w) would be. The exception is a value that moves within a
// variable to or from an element that memory chooses,
//
//     s[order[t]] = s[t];
//
// because a thread that stores before another one has loaded overwrites what that one moves. In memory that a
// launch passes, the only case considered is one lane that loads several elements which different lanes
// store.
#include "nodes.h"
#include "checks.h"
#include "library.h"
#include "lockstep.h"
#include "meetings.h"
#include "shared.h"
#include "uniformity.h"
#include "waits.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SetVector.h>
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

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace xaas::cpukernel {

namespace {

bool may_be_shared(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  return llvm::any_of(objects,
                      [](const llvm::Value* object) { return llvm::isa<llvm::GlobalVariable>(object); });
}

class Cutter {
public:
  Cutter(llvm::Function& kernel, const std::set<const llvm::Value*>& shared)
      : kernel_(kernel), shared_(shared) {}

  Result<Nodes> run() {
    XAAS_CHECK(refuse_what_is_unknown());
    expand_moves(kernel_);
    find_conflicts();
    std::vector<llvm::Instruction*> waits;
    for (llvm::BasicBlock* end : find_waits(kernel_, conflicts_set_))
      waits.push_back(end->getTerminator());
    result_.nodes.push_back({&kernel_.getEntryBlock(), Meeting::split});
    for (llvm::CallBase* call : calls_)
      cut_at(*call);
    for (llvm::Instruction* access : conflicts_)
      add_node(start_of_access(*access), Meeting::split);
    for (llvm::Instruction* wait : waits)
      add_node(*wait, Meeting::write);
    if (waits.empty())
      decide();
    else
      disagree(wait_reason);
    return std::move(result_);
  }

private:
  static Error unsatisfied(const std::string& what) { return make_error(ErrorKind::unsatisfied, what); }

  Result<void> refuse_what_is_unknown() {
    for (llvm::Instruction& instruction : llvm::instructions(kernel_)) {
      if (is_of_unknown_size(instruction))
        return unsatisfied("a variable whose size is not known before the kernel runs");
      if (std::string unknown = unknown_call(instruction); !unknown.empty())
        return unsatisfied(unknown);
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call && meeting_of(*call))
        calls_.push_back(call);
    }
    return {};
  }

  void cut_at(llvm::CallBase& call) {
    const Rule rule = *meeting_of(call);
    llvm::Constant* const place = place_of(call);
    llvm::IRBuilder<> builder(&call);
    if (rule.mask >= 0)
      builder.CreateStore(call.getArgOperand(static_cast<unsigned>(rule.mask)),
                          variable(result_.lanes, builder.getInt32Ty()));
    if (rule.published >= 0) {
      llvm::Value* const value =
          published_value(builder, *call.getArgOperand(static_cast<unsigned>(rule.published)));
      builder.CreateStore(value, variable(result_.published, builder.getInt64Ty()));
    }
    add_node(call, rule.meeting, place);
    if (rule.published >= 0)
      add_node(*call.getNextNode(), rule.meeting, place);
    else
      call.eraseFromParent();
  }

  llvm::AllocaInst* variable(llvm::AllocaInst*& known, llvm::Type* type) {
    if (!known)
      known = llvm::IRBuilder<>(&*kernel_.getEntryBlock().begin()).CreateAlloca(type);
    return known;
  }

  void add_node(llvm::Instruction& first, Meeting meeting, llvm::Constant* place = nullptr) {
    result_.nodes.push_back({llvm::SplitBlock(first.getParent(), &first), meeting, place});
  }

  // That a load or store accesses; null for other instructions.
  static llvm::Value* pointer_of(llvm::Instruction& instruction) {
    return without_check(llvm::getLoadStorePointerOperand(&instruction));
  }

  // Accesses of shared memory that may see another thread's, with no other node between them.
  void find_conflicts() {
    for (llvm::Instruction& instruction : llvm::instructions(kernel_))
      if (llvm::Value* pointer = pointer_of(instruction))
        if (Address address = shared_address(pointer, kernel_.getDataLayout());
            address.base && shared_.contains(address.base))
          addresses_[&instruction] = std::move(address);
    find_gathering();
    std::optional<Uniformity> uniformity; // of kernels with such accesses
    if (!addresses_.empty())
      uniformity.emplace(kernel_);
    varies_ = [&](const llvm::Value& value) { return uniformity->varies(value); };
    visit_accesses();
    decide_gathering();
    if (relying_.empty() && gathering_.empty())
      return;
    conflicts_.clear();
    conflicts_set_.clear();
    visit_accesses();
  }

  // Finds the places of accesses of variables and arguments of which each lane may store one element, and one
  // lane may load several. In most kernels there are none.
  void find_gathering() {
    using Access = std::pair<const llvm::Instruction*, Address>;
    std::map<const llvm::Value*, std::vector<Access>> loads, stores;
    for (llvm::Instruction& instruction : llvm::instructions(kernel_))
      if (llvm::Value* pointer = pointer_of(instruction)) {
        const auto known = addresses_.find(&instruction);
        Address address =
            known == addresses_.end() ? global_address(pointer, kernel_.getDataLayout()) : known->second;
        const bool is_load = llvm::isa<llvm::LoadInst>(instruction);
        std::set<int64_t> places = address.base && is_load ? places_for_all(address) : std::set<int64_t>();
        if (!address.base || (is_load && places.empty()))
          continue;
        if (is_load)
          places_[&instruction] = std::move(places);
        (is_load ? loads : stores)[address.base].emplace_back(&instruction, std::move(address));
      }
    std::optional<llvm::DominatorTree> dominators;
    for (const auto& [base, all] : loads) {
      if (const auto found = stores.find(base); found != stores.end())
        for (const auto& [store, address] : found->second) {
          if (!dominators)
            dominators.emplace(kernel_);
          std::set<int64_t> places = places_of_lanes(address, way_to(*store->getParent(), *dominators));
          if (places.size() < 2)
            continue;
          addresses_.try_emplace(store, address);
          places_[store] = std::move(places);
        }
      addresses_.insert(all.begin(), all.end());
    }
  }

  // The branches on the only way to a block.
  static std::vector<BranchOutcome> way_to(const llvm::BasicBlock& block,
                                           const llvm::DominatorTree& dominators) {
    std::vector<BranchOutcome> way;
    for (const auto* node = dominators.getNode(&block); node && node->getIDom(); node = node->getIDom()) {
      const llvm::BasicBlock* const before = node->getIDom()->getBlock();
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
      if (branch && branch->isConditional() && node->getBlock()->getSinglePredecessor() == before)
        way.push_back({branch->getCondition(), branch->getSuccessor(0) == node->getBlock()});
    }
    return way;
  }

  // Records what the load reads of what the lanes have stored. True if one lane seems to read several lanes'.
  bool gathers(const llvm::Instruction& load, const llvm::Instruction& store) {
    const auto to = places_.find(&load), from = places_.find(&store);
    if (!llvm::isa<llvm::LoadInst>(load) || !llvm::isa<llvm::StoreInst>(store) || to == places_.end() ||
        from == places_.end() || addresses_.at(&load).base != addresses_.at(&store).base)
      return false;
    const auto size =
        static_cast<int64_t>(kernel_.getDataLayout().getTypeStoreSize(load.getType()).getFixedValue());
    std::set<int64_t> found;
    for (const int64_t place : to->second)
      found.insert(from->second.lower_bound(place), from->second.lower_bound(place + size));
    if (found.empty())
      return false;
    gathered_[&store][&load] = std::move(found);
    return gathering_.contains(&store);
  }

  // Finds the stores of which one lane loads several places: by one load, or by two of which one is on every
  // way to the other.
  void decide_gathering() {
    if (gathered_.empty())
      return;
    const llvm::DominatorTree dominators(kernel_);
    for (const auto& [store, loads] : gathered_)
      for (const auto& [load, places] : loads)
        if (places.size() > 1 || llvm::any_of(loads, [&](const auto& other) {
              return other.second != places && dominators.dominates(other.first, load);
            }))
          gathering_.insert(store);
  }

  void visit_accesses() {
    std::map<const llvm::BasicBlock*, Pending> at_end;
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock& block : kernel_) {
        Pending pending;
        for (const llvm::BasicBlock* before : llvm::predecessors(&block)) {
          const Pending& other = at_end[before];
          pending.loads |= other.loads;
          pending.stores |= other.stores;
          pending.accesses.insert(other.accesses.begin(), other.accesses.end());
        }
        for (llvm::Instruction& instruction : block)
          step(instruction, pending);
        Pending& known = at_end[&block];
        changed |= known != pending;
        known = pending;
      }
    }
  }

  struct Pending {
    bool loads = false, stores = false;               // volatile ones
    std::set<const llvm::Instruction*> accesses = {}; // others
    bool operator==(const Pending&) const = default;
  };

  void step(llvm::Instruction& instruction, Pending& pending) {
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && meeting_of(*call))
      pending = {};
    const bool is_load = llvm::isa<llvm::LoadInst>(instruction);
    const bool is_volatile =
        instruction.isVolatile() && pointer_of(instruction) && may_be_shared(pointer_of(instruction));
    const auto own = addresses_.find(&instruction);
    if (!is_volatile && own == addresses_.end())
      return;
    bool gathers_any = false;
    for (const llvm::Instruction* other : pending.accesses)
      gathers_any |= gathers(instruction, *other);
    const bool is_shared = !is_volatile && shared_.contains(own->second.base);
    bool sees_another = is_volatile && (is_load ? pending.stores : pending.loads);
    if (is_shared && (is_load || relying_.contains(own->second.base)))
      sees_another = llvm::any_of(pending.accesses, [&](const llvm::Instruction* other) {
        return (!is_load || llvm::isa<llvm::StoreInst>(other)) &&
               lanes_share(addresses_.at(other), own->second, varies_);
      });
    const bool overwrites =
        is_shared && !is_load && llvm::any_of(pending.accesses, [&](const llvm::Instruction* other) {
          return llvm::isa<llvm::LoadInst>(other) && value_moves(*other, instruction);
        });
    if (sees_another && is_shared)
      relying_.insert(own->second.base);
    sees_another |= gathers_any;
    if (sees_another || overwrites || conflicts_set_.contains(&instruction)) {
      if (conflicts_set_.insert(&instruction).second)
        conflicts_.push_back(&instruction);
      pending = {};
    }
    if (is_volatile)
      (is_load ? pending.loads : pending.stores) = true;
    else if (pending.accesses.size() < most_pending)
      pending.accesses.insert(&instruction);
  }

  // Whether a store writes what a load has read to another element of the variable, and memory chooses one of
  // the two. A thread's own part of a variable, as s[n * 64 + t], is no such element.
  bool value_moves(const llvm::Instruction& load, const llvm::Instruction& store) const {
    const Address &from = addresses_.at(&load), &to = addresses_.at(&store);
    if (from.base != to.base || from.terms == to.terms)
      return false;
    bool chosen = false;
    for (const Address* each : {&from, &to})
      for (const auto& [value, factor] : each->terms) {
        const auto other = (each == &from ? to : from).terms.find(value);
        if (!varies_(*value))
          continue;
        if (other != (each == &from ? to : from).terms.end() && other->second == factor)
          return false;
        chosen |=
            comes_from(*value, [](const llvm::Value& source) { return llvm::isa<llvm::LoadInst>(source); });
      }
    return chosen && comes_from(*llvm::cast<llvm::StoreInst>(store).getValueOperand(),
                                [&](const llvm::Value& source) { return &source == &load; });
  }

  // Whether such a value is computed from another one, without memory between. A condition is no part of
  // what it selects.
  static bool comes_from(const llvm::Value& value, llvm::function_ref<bool(const llvm::Value&)> is_source) {
    constexpr size_t most = 64; // values to look at
    llvm::SmallSetVector<const llvm::Value*, 16> seen;
    seen.insert(&value);
    for (size_t i = 0; i < seen.size() && i < most; ++i) {
      if (is_source(*seen[i]))
        return true;
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(seen[i]);
      if (instruction && !instruction->mayReadFromMemory())
        for (const llvm::Use& operand : instruction->operands())
          if (llvm::isa<llvm::Instruction>(operand) &&
              !(llvm::isa<llvm::SelectInst>(instruction) && operand.getOperandNo() == 0))
            seen.insert(operand);
    }
    return false;
  }

  // Whether the threads agree.
  void decide() {
    if (result_.nodes.size() == 1)
      return;
    const Uniformity uniformity(kernel_);
    for (const Node& node : result_.nodes) {
      if (!uniformity.divergent_blocks().contains(node.entry))
        continue;
      disagree(conflicts_.empty() ? "threads may come to different barriers"
                                  : "threads of a warp rely on running in lockstep");
      return;
    }
  }

  void disagree(const char* reason) {
    result_.agree = false;
    result_.reason = reason;
  }

  llvm::Function& kernel_;
  Nodes result_;
  std::vector<llvm::CallBase*> calls_;
  static constexpr size_t most_pending = 64; // of kernels with more, lockstep is not found
  const std::set<const llvm::Value*>& shared_;
  std::map<const llvm::Instruction*, Address> addresses_;
  std::function<bool(const llvm::Value&)> varies_;
  std::set<const llvm::Value*> relying_; // variables whose threads seem to run in lockstep
  using Places = std::map<const llvm::Instruction*, std::set<int64_t>>;
  Places places_; // of stores with a place for each lane, and of loads with the same ones for all
  std::map<const llvm::Instruction*, Places> gathered_; // places of a store that loads read
  std::set<const llvm::Instruction*> gathering_;        // stores of which one lane reads several places
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

Result<Nodes> find_nodes(llvm::Function& kernel, const std::set<const llvm::Value*>& shared) {
  return Cutter(kernel, shared).run();
}

} // namespace xaas::cpukernel
