// Problem: the code from a node to the next ones must run for all threads of a block, one after the other or
// several at once, before any thread goes on.
//
//     i = t; s[i] = a[i];   node 1   a[i] = s[63 - i];
//
// becomes two functions, and an array of the block's arena for values of a thread that both use, unless they
// are as easily computed again (as i is here):
//
//     region0(a, block, x, y, z, t): s[t] = a[t]; return {node 1}
//     region1(a, block, x, y, z, t): a[t] = s[63 - t]; return {ended}
//
// Approach: the region of a node are the blocks that it reaches without passing another node. A block that
// several nodes reach is copied into each of their regions. A value crosses if some region uses it where that
// region has not surely computed it. If it is the same for all threads, it is a parameter of the regions and
// a part of their results. Else it is computed again from the thread's index, the kernel's arguments and
// uniform values where that takes few instructions; or goes through memory, as does a variable of a thread
// that several regions use. These become arrays in the arena, in which the elements of neighbouring threads
// are neighbours.
//
// Rejected: LLVM's coroutines, which keep a thread's values in a frame of its own. Their threads cannot be
// vectorized, because each is called through a pointer.
#include "regions.h"
#include "affine.h"
#include "library.h"
#include "recompute.h"
#include "uniformity.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <algorithm>
#include <optional>

namespace xaas::cpukernel {

namespace {

using Blocks = llvm::SmallPtrSet<llvm::BasicBlock*, 16>;

class RegionMaker {
public:
  // `place`: of a region that is cut again.
  RegionMaker(llvm::Function& kernel, Nodes& nodes, const SharedPlaces& places,
              std::optional<unsigned> place = {}, const Regions* whole = nullptr)
      : kernel_(kernel), nodes_(nodes), places_(places), module_(*kernel.getParent()),
        context_(module_.getContext()), place_(place) {
    if (whole) {
      result_.arrays = whole->arrays;
      result_.thread_bytes = whole->thread_bytes;
    }
  }

  Regions run() {
    if (nodes_.published)
      arrays_[nodes_.published] = new_array(sizeof(uint64_t));
    if (!nodes_.agree) {
      result_.nodes = new_array(sizeof(uint32_t));
      result_.masks = new_array(sizeof(uint32_t));
      result_.run = new_array(sizeof(uint8_t));
      if (nodes_.lanes)
        arrays_[nodes_.lanes] = result_.masks;
    }
    for (const Node& node : nodes_.nodes)
      entries_[node.entry] = entries_.size();
    for (const Node& node : nodes_.nodes)
      regions_.push_back(blocks_from(node.entry, nullptr));
    if (nodes_.nodes.size() > 1)
      carry_values();
    place_variables();
    for (llvm::AllocaInst* variable : uniform_)
      result_.uniform.push_back(variable->getAllocatedType());
    for (size_t i = 0; i < nodes_.nodes.size(); ++i)
      make_function(i);
    return std::move(result_);
  }

private:
  ThreadArray new_array(uint64_t size) {
    const ThreadArray array{result_.arrays++, result_.thread_bytes, size};
    result_.thread_bytes += size;
    return array;
  }

  // The blocks that are reached from a node's entry without passing another node or `without`.
  Blocks blocks_from(llvm::BasicBlock* entry, const llvm::BasicBlock* without) const {
    Blocks reached;
    llvm::SmallVector<llvm::BasicBlock*, 16> left = {entry};
    while (!left.empty()) {
      llvm::BasicBlock* block = left.pop_back_val();
      if (block == without || !reached.insert(block).second)
        continue;
      for (llvm::BasicBlock* next : llvm::successors(block))
        if (!entries_.contains(next))
          left.push_back(next);
    }
    return reached;
  }

  // True if a region contains `use` and can reach it without computing what `definition` contains.
  bool misses(const llvm::BasicBlock* definition, llvm::BasicBlock* use) {
    const auto [known, is_new] = misses_.try_emplace({definition, use}, false);
    if (!is_new)
      return known->second;
    bool result = false;
    for (size_t i = 0; i < regions_.size() && !result; ++i)
      result = regions_[i].contains(use) && blocks_from(nodes_.nodes[i].entry, definition).contains(use);
    return misses_[{definition, use}] = result;
  }

  static llvm::BasicBlock* block_of(const llvm::Use& use) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi ? phi->getIncomingBlock(use) : user->getParent();
  }

  bool crosses(const llvm::Use& use) {
    const auto* value = llvm::cast<llvm::Instruction>(use.get());
    llvm::BasicBlock* const block = block_of(use);
    return block != value->getParent() && misses(value->getParent(), block);
  }

  void carry_values() {
    if (nodes_.agree && place_) {
      const llvm::Value* const sources[] = {kernel_.getArg(*place_ + 1), kernel_.getArg(*place_ + 4)};
      uniformity_.emplace(kernel_, sources);
    } else if (nodes_.agree) {
      uniformity_.emplace(kernel_);
    }
    recomputation_.emplace(kernel_, uniformity_ ? &*uniformity_ : nullptr);
    std::vector<llvm::Instruction*> values;
    for (llvm::Instruction& instruction : llvm::instructions(kernel_))
      if (!llvm::isa<llvm::AllocaInst>(instruction))
        values.push_back(&instruction);
    // Uses first: what is computed again may need operands that cross, too, and these come later.
    for (auto value = values.rbegin(); value != values.rend(); ++value)
      recompute(**value);
    for (llvm::Instruction* value : values) {
      if (llvm::none_of(value->uses(), [this](const llvm::Use& use) { return crosses(use); }))
        continue;
      const bool uniform = recomputation_->is_uniform(*value);
      llvm::AllocaInst* variable =
          llvm::DemoteRegToStack(*value, false, kernel_.getEntryBlock().getFirstInsertionPt());
      if (uniform)
        uniform_.push_back(variable);
    }
  }

  void recompute(llvm::Instruction& value) {
    if (value.use_empty() || recomputation_->is_uniform(value))
      return;
    llvm::SmallVector<llvm::Use*, 8> uses;
    for (llvm::Use& use : value.uses())
      if (crosses(use))
        uses.push_back(&use);
    if (uses.empty() || !recomputation_->is_cheap(value))
      return;
    std::map<llvm::BasicBlock*, llvm::Value*> copies;
    for (llvm::Use* use : uses) {
      llvm::BasicBlock* const block = block_of(*use);
      llvm::Value*& copy = copies[block];
      if (!copy)
        copy = recomputation_->copy_of(value, insertion_point(*block));
      use->set(copy);
    }
  }

  // At the start of a block, after PHI nodes, and allocations in the entry block.
  llvm::BasicBlock::iterator insertion_point(llvm::BasicBlock& block) const {
    llvm::BasicBlock::iterator at = block.getFirstInsertionPt();
    while (llvm::isa<llvm::AllocaInst>(at))
      ++at;
    return at;
  }

  // Variables of a thread that live from one region to another.
  void place_variables() {
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Instruction& instruction : kernel_.getEntryBlock())
      if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
        variables.push_back(variable);
    for (llvm::AllocaInst* variable : variables) {
      if (arrays_.count(variable) || llvm::is_contained(uniform_, variable) ||
          !is_shared_by_regions(*variable))
        continue;
      const llvm::TypeSize size = *variable->getAllocationSize(module_.getDataLayout()); // find_nodes() asked
      arrays_[variable] = new_array(llvm::alignTo(size.getFixedValue(), variable->getAlign().value()));
      for (llvm::User* user : llvm::make_early_inc_range(variable->users()))
        if (auto* marker = llvm::dyn_cast<llvm::LifetimeIntrinsic>(user))
          marker->eraseFromParent();
    }
  }

  // A variable whose address is stored or given away counts: any region may have it.
  bool is_shared_by_regions(const llvm::AllocaInst& variable) const {
    if (regions_.size() == 1)
      return false;
    llvm::SmallPtrSet<const llvm::BasicBlock*, 8> used;
    llvm::SmallVector<const llvm::Value*, 8> left = {&variable};
    llvm::SmallPtrSet<const llvm::Value*, 16> seen;
    while (!left.empty()) {
      const llvm::Value* value = left.pop_back_val();
      for (const llvm::User* user : value->users()) {
        const auto* instruction = llvm::cast<llvm::Instruction>(user);
        if (llvm::isa<llvm::LifetimeIntrinsic>(instruction))
          continue;
        const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
        if (store ? store->getValueOperand() == value
                  : !llvm::isa<llvm::LoadInst, llvm::GetElementPtrInst, llvm::MemIntrinsic, llvm::PHINode,
                               llvm::SelectInst, llvm::CmpInst>(instruction))
          return true;
        used.insert(instruction->getParent());
        if (instruction->getType()->isPointerTy() && seen.insert(instruction).second)
          left.push_back(instruction);
      }
    }
    // The first region runs once, so what only it uses does not live on.
    return llvm::any_of(used, [&](const llvm::BasicBlock* block) {
      for (size_t i = 1; i < regions_.size(); ++i)
        if (regions_[i].contains(const_cast<llvm::BasicBlock*>(block)))
          return true;
      return false;
    });
  }

  // One region as a function.
  struct Copy {
    llvm::Function* function = nullptr;
    llvm::Value *block = nullptr, *thread = nullptr;
    llvm::SmallVector<llvm::Value*, 5> place; // block, x, y, z, t
    llvm::SmallVector<llvm::Value*, 4> uniform;
    llvm::ValueToValueMapTy map;
    std::map<uint32_t, llvm::BasicBlock*> exits; // by the code that they return
    llvm::Value* code = nullptr;                 // a variable for it
    std::vector<llvm::AllocaInst*> outer;        // variables for what else the region returns that is cut
    llvm::BasicBlock* end = nullptr;             // which returns it
  };

  void make_function(size_t index) {
    Copy copy;
    declare(index, copy);
    llvm::BasicBlock* const start = llvm::BasicBlock::Create(context_, "", copy.function);
    llvm::IRBuilder<> builder(start);
    copy.code = builder.CreateAlloca(builder.getInt32Ty());
    copy.end = llvm::BasicBlock::Create(context_, "", copy.function);
    for (llvm::Type* type : outer_types())
      copy.outer.push_back(builder.CreateAlloca(type));
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock& block : kernel_)
      if (regions_[index].contains(&block))
        blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks)
      copy.map[block] = llvm::CloneBasicBlock(block, copy.map, "", copy.function);
    // A variable of this region alone lies at the start, also where its allocation belongs to another region.
    for (llvm::AllocaInst* variable : variables_of(blocks)) {
      if (const auto own = copy.map.find(variable); own != copy.map.end())
        llvm::cast<llvm::Instruction>(own->second)->eraseFromParent();
      const auto array = arrays_.find(variable);
      copy.map[variable] =
          array == arrays_.end() ? builder.Insert(variable->clone()) : element(builder, copy, array->second);
    }
    for (size_t i = 0; i < uniform_.size(); ++i)
      builder.CreateStore(copy.uniform[i], copy.map[uniform_[i]]);
    for (llvm::BasicBlock* block : blocks)
      finish_block(*block, copy);
    builder.CreateBr(llvm::cast<llvm::BasicBlock>(copy.map[nodes_.nodes[index].entry]));
    finish_return(copy);
    replace_calls(copy);
    place_shared(copy);
    result_.functions.push_back(copy.function);
  }

  // Variables that blocks use, or allocate. (Most regions of a kernel with many nodes use few of its
  // variables.)
  llvm::SmallSetVector<llvm::AllocaInst*, 8>
  variables_of(const std::vector<llvm::BasicBlock*>& blocks) const {
    llvm::SmallSetVector<llvm::AllocaInst*, 8> variables(uniform_.begin(), uniform_.end());
    for (llvm::BasicBlock* block : blocks)
      for (llvm::Instruction& instruction : *block) {
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
          variables.insert(variable);
        for (llvm::Value* operand : instruction.operands())
          if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(operand))
            variables.insert(variable);
      }
    return variables;
  }

  // Uniform values that a region returns, besides the code.
  llvm::ArrayRef<llvm::Type*> outer_types() const {
    if (!place_)
      return {};
    return llvm::cast<llvm::StructType>(kernel_.getReturnType())->elements().drop_front();
  }

  void declare(size_t index, Copy& copy) {
    llvm::Type* const word = llvm::Type::getInt32Ty(context_);
    std::vector<llvm::Type*> parameters(kernel_.getFunctionType()->params());
    if (!place_) {
      parameters.push_back(llvm::PointerType::get(context_, 0));
      parameters.insert(parameters.end(), 4, word);
    }
    const unsigned place = place_.value_or(static_cast<unsigned>(kernel_.arg_size()));
    const auto own = static_cast<unsigned>(parameters.size());
    std::vector<llvm::Type*> results = {word};
    results.insert(results.end(), outer_types().begin(), outer_types().end());
    parameters.insert(parameters.end(), result_.uniform.begin(), result_.uniform.end());
    results.insert(results.end(), result_.uniform.begin(), result_.uniform.end());
    llvm::Type* const result = llvm::StructType::get(context_, results);
    copy.function = llvm::Function::Create(
        llvm::FunctionType::get(result, parameters, false),
        // visible, or the inliner would drop it before it is called
        llvm::GlobalValue::ExternalLinkage,
        kernel_.getName() + (place_ ? ".part" : ".region") + std::to_string(index), module_);
    copy.function->addFnAttr(llvm::Attribute::AlwaysInline);
    copy.function->addFnAttr(llvm::Attribute::NoUnwind);
    for (unsigned i = 0; i < kernel_.arg_size(); ++i) {
      copy.map[kernel_.getArg(i)] = copy.function->getArg(i);
      if (llvm::Type* const type = kernel_.getArg(i)->getParamByValType())
        copy.function->addParamAttr(
            i, llvm::Attribute::get(context_, structure_attribute,
                                    std::to_string(module_.getDataLayout().getTypeAllocSize(type))));
      else if (kernel_.getAttributes().hasParamAttr(i, structure_attribute))
        copy.function->addParamAttr(i, kernel_.getAttributes().getParamAttr(i, structure_attribute));
    }
    for (unsigned i = place; i < place + 5; ++i)
      copy.place.push_back(copy.function->getArg(i));
    for (unsigned i = own; i < copy.function->arg_size(); ++i)
      copy.uniform.push_back(copy.function->getArg(i));
    copy.block = copy.place.front();
    copy.thread = copy.place.back();
    // Not noalias: the inliner would declare a scope in each loop, which is no parallel access.
    copy.function->getArg(place)->addAttr(llvm::Attribute::ReadOnly);
  }

  llvm::Value* element(llvm::IRBuilder<>& builder, const Copy& copy, const ThreadArray& array,
                       bool first = false) {
    llvm::Value* const thread = first ? builder.getInt32(0) : copy.thread;
    return builder.CreateCall(module_.getFunction("xaas_slot"),
                              {copy.block, thread, builder.getInt32(array.number),
                               builder.getInt64(array.before), builder.getInt64(array.size)});
  }

  // Ways out of the region become returns.
  void finish_block(llvm::BasicBlock& original, Copy& copy) {
    auto& block = *llvm::cast<llvm::BasicBlock>(copy.map[&original]);
    for (llvm::PHINode& phi : llvm::make_early_inc_range(block.phis()))
      for (unsigned i = phi.getNumIncomingValues(); i-- > 0;)
        if (!copy.map.count(phi.getIncomingBlock(i)))
          phi.removeIncomingValue(i, false);
    if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()); end && place_) {
      llvm::IRBuilder<> builder(end);
      llvm::Value* const result = end->getReturnValue();
      builder.CreateStore(builder.CreateExtractValue(result, 0), copy.code);
      for (unsigned i = 0; i < copy.outer.size(); ++i)
        builder.CreateStore(builder.CreateExtractValue(result, i + 1), copy.outer[i]);
      builder.CreateBr(copy.end);
      end->eraseFromParent();
    } else if (end) {
      block.getTerminator()->eraseFromParent();
      llvm::IRBuilder<> builder(&block);
      if (nodes_.published) // nothing any more
        builder.CreateStore(builder.getInt64(0), element(builder, copy, arrays_[nodes_.published]));
      create_return(builder, ended_code, copy);
    } else {
      llvm::Instruction& jump = *block.getTerminator();
      for (unsigned i = 0; i < jump.getNumSuccessors(); ++i)
        if (const auto entry = entries_.find(original.getTerminator()->getSuccessor(i));
            entry != entries_.end())
          jump.setSuccessor(
              i, exit_to(place_ ? part_code(entry->second) : node_code(nodes_, entry->second), copy));
    }
    for (llvm::Instruction& instruction : block)
      llvm::RemapInstruction(&instruction, copy.map,
                             llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
  }

  llvm::ConstantInt* number(uint32_t value) const {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value);
  }

  llvm::BasicBlock* exit_to(uint32_t code, Copy& copy) {
    llvm::BasicBlock*& exit = copy.exits[code];
    if (!exit) {
      exit = llvm::BasicBlock::Create(context_, "", copy.function);
      llvm::IRBuilder<> builder(exit);
      create_return(builder, code, copy);
    }
    return exit;
  }

  // Each region has one return, so that results are values of their own where it is inlined.
  void create_return(llvm::IRBuilder<>& builder, uint32_t code, Copy& copy) {
    builder.CreateStore(number(code), copy.code);
    builder.CreateBr(copy.end);
  }

  void finish_return(Copy& copy) {
    llvm::IRBuilder<> builder(copy.end);
    llvm::Value* result = builder.CreateInsertValue(llvm::PoisonValue::get(copy.function->getReturnType()),
                                                    builder.CreateLoad(builder.getInt32Ty(), copy.code), 0);
    unsigned element = 0;
    for (llvm::AllocaInst* variable : copy.outer)
      result = builder.CreateInsertValue(result, builder.CreateLoad(variable->getAllocatedType(), variable),
                                         ++element);
    for (unsigned i = 0; i < uniform_.size(); ++i)
      result = builder.CreateInsertValue(
          result, builder.CreateLoad(result_.uniform[i], copy.map[uniform_[i]]), ++element);
    builder.CreateRet(result);
  }

  // Intrinsics of the thread become calls of the library.
  void replace_calls(Copy& copy) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(copy.function))) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const llvm::Function* callee = call ? callee_of(*call) : nullptr;
      const std::string name = callee ? intrinsic_name(*callee) : "";
      if (name.empty())
        continue;
      llvm::IRBuilder<> builder(call);
      std::vector<llvm::Value*> arguments(copy.place.begin(), copy.place.end());
      llvm::Value* result = nullptr;
      if (llvm::Function* own = module_.getFunction(thread_prefix + name)) {
        arguments.insert(arguments.end(), call->arg_begin(), call->arg_end());
        result = builder.CreateCall(own, arguments);
      } else {
        result = read_published(builder, *call, *element(builder, copy, arrays_[nodes_.published], true),
                                *copy.block, *copy.thread);
      }
      call->replaceAllUsesWith(result);
      call->eraseFromParent();
    }
  }

  void place_shared(Copy& copy) {
    llvm::Instruction& first = *copy.function->getEntryBlock().getFirstInsertionPt();
    std::map<llvm::GlobalVariable*, llvm::Value*> addresses;
    for (llvm::Instruction& instruction : llvm::instructions(copy.function))
      for (llvm::Use& use : instruction.operands()) {
        auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(use);
        const auto place = variable ? places_.find(variable) : places_.end();
        if (place == places_.end())
          continue;
        llvm::Value*& address = addresses[variable];
        if (!address) {
          llvm::IRBuilder<> builder(&first);
          address = builder.CreateCall(module_.getFunction("xaas_shared"),
                                       {copy.block, builder.getInt32(static_cast<uint32_t>(place->second))});
        }
        use.set(address);
      }
  }

  llvm::Function& kernel_;
  Nodes& nodes_;
  const SharedPlaces& places_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  std::optional<unsigned> place_;
  std::map<const llvm::BasicBlock*, size_t> entries_;
  std::vector<Blocks> regions_;
  std::map<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, bool> misses_;
  llvm::MapVector<llvm::AllocaInst*, ThreadArray> arrays_;
  std::vector<llvm::AllocaInst*> uniform_; // hold the uniform values
  std::optional<Uniformity> uniformity_;
  std::optional<Recomputation> recomputation_;
  Regions result_;
};

} // namespace

uint32_t node_code(const Nodes& nodes, size_t index) {
  return static_cast<uint32_t>(nodes.nodes[index].meeting) << 30 | static_cast<uint32_t>(index);
}

Regions make_regions(llvm::Function& kernel, Nodes& nodes, const SharedPlaces& places) {
  return RegionMaker(kernel, nodes, places).run();
}

uint32_t part_code(size_t index) {
  return 1u << 29 | static_cast<uint32_t>(index);
}

llvm::Function* declare_like(llvm::Function& region, const char* suffix, llvm::Type* result,
                             llvm::ArrayRef<llvm::Type*> more) {
  std::vector<llvm::Type*> parameters(region.getFunctionType()->params());
  parameters.insert(parameters.end(), more.begin(), more.end());
  llvm::Function* const function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                                          llvm::GlobalValue::ExternalLinkage,
                                                          region.getName() + suffix, *region.getParent());
  function->copyAttributesFrom(&region);
  return function;
}

llvm::Function* copy_region(llvm::Function& region, const char* suffix, llvm::ValueToValueMapTy& map,
                            llvm::ArrayRef<llvm::Type*> more) {
  llvm::Function* const copy = declare_like(region, suffix, region.getReturnType(), more);
  for (unsigned i = 0; i < region.arg_size(); ++i)
    map[region.getArg(i)] = copy->getArg(i);
  llvm::SmallVector<llvm::ReturnInst*, 4> returns;
  llvm::CloneFunctionInto(copy, &region, map, llvm::CloneFunctionChangeType::LocalChangesOnly, returns);
  return copy;
}

Regions cut_region(llvm::Function& region, unsigned place, Nodes& nodes, Regions& whole) {
  Regions parts = RegionMaker(region, nodes, {}, place, &whole).run();
  whole.arrays = parts.arrays;
  whole.thread_bytes = parts.thread_bytes;
  return parts;
}

} // namespace xaas::cpukernel
