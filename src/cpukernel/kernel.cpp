// Problem: run the regions of a kernel for all threads of a block.
//
// If all threads agree on the nodes, each region is a loop over the threads (rows.cpp), and what its last
// thread returns is what all return: the next node, and values that are the same for all threads.
//
//     for (node = 0; node != ended;)
//       switch (node) {
//       case 0: for z, y, x: {next, v} = region0(..., x, y, z, t, u); node = next, u = v
//       case 1: for z, y, x: {next, v} = region1(..., x, y, z, t, u); node = next, u = v
//       }
//
// Else each thread has a node of its own, and rounds of all threads that may run follow each other until all
// have ended (xaas_schedule() in library/thread.c):
//
//     while (chosen = xaas_schedule(block, nodes, masks, run))
//       if (chosen == all_at_one_node)
//         switch (nodes[0]) { case 0: for z, y, x: nodes[t] = region0(..., x, y, z, t); ... }
//       else
//         for z, y, x: if (run[t]) switch (nodes[t]) { case 0: nodes[t] = region0(..., x, y, z, t); ... }
//
// In many rounds, all threads happen to be at the same node, and one loop over them, which LLVM can
// vectorize, suffices: with it, a Jacobi solver whose threads meet in a branch (HeCBench's jacobi) is 1.7
// times as fast.
//
// On most of Intel's CPUs, LLVM prefers vectors of half the width, because the CPU's clock slows down for
// code that has few wide vectors. Kernels have many: with whole vectors, lud (Rodinia) is 1.7 times as fast
// on Rocket Lake, hotspot3D 1.1, nw 0.94, and others as before. Kernels that compute in double precision gain
// nothing (hotspot, lavaMD), or lose (CloverLeaf 0.96, srad_v2 0.94), so they have what LLVM prefers.
#include "kernel.h"
#include "checks.h"
#include "rows.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <functional>

namespace xaas::cpukernel {

namespace {

// A guess: values of other types are not looked at.
bool computes_in_double_precision(llvm::Function* region) {
  return llvm::any_of(llvm::instructions(*region), [](const llvm::Instruction& instruction) {
    return instruction.getType()->isDoubleTy() && !llvm::isa<llvm::LoadInst>(instruction);
  });
}

class BlockFunction {
public:
  BlockFunction(llvm::Function& kernel, const Nodes& nodes, const Regions& regions,
                const std::vector<RowPlan>& rows, bool vector_masks)
      : kernel_(kernel), nodes_(nodes), regions_(regions), rows_(rows), vector_masks_(vector_masks),
        module_(*kernel.getParent()), code_(module_), builder_(code_.builder), frame_(code_.frame) {}

  llvm::Function* run() {
    llvm::Type* const pointer = llvm::PointerType::get(module_.getContext(), 0);
    frame_.function = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(module_.getContext()), {pointer, pointer}, false),
        llvm::GlobalValue::InternalLinkage, kernel_.getName() + ".block", module_);
    if (llvm::none_of(regions_.functions, computes_in_double_precision))
      frame_.function->addFnAttr("prefer-vector-width", "512"); // bits; see the start of this file
    frame_.function->addFnAttr(llvm::Attribute::NoUnwind);
    frame_.block = frame_.function->getArg(1);
    frame_.function->getArg(1)->addAttr(llvm::Attribute::NoAlias);
    builder_.SetInsertPoint(code_.new_block());
    read_arguments();
    code_.read_sizes();
    if (nodes_.agree)
      run_together();
    else
      run_masked();
    return frame_.function;
  }

private:
  void read_arguments() {
    for (llvm::Argument& parameter : kernel_.args())
      frame_.arguments.push_back(read_argument(builder_, parameter, *frame_.function->getArg(0)));
  }

  void run_together() {
    Results results = {code_.allocate(builder_.getInt32Ty())};
    builder_.CreateStore(builder_.getInt32(0), results.front());
    for (llvm::Type* type : regions_.uniform)
      results.push_back(code_.allocate(type));
    llvm::BasicBlock* const choose = code_.new_block();
    llvm::BasicBlock* const end = code_.new_block();
    builder_.CreateBr(choose);
    builder_.SetInsertPoint(choose);
    llvm::SwitchInst* const jump =
        builder_.CreateSwitch(builder_.CreateLoad(builder_.getInt32Ty(), results.front()), end);
    for (size_t i = 0; i < regions_.functions.size(); ++i) {
      llvm::BasicBlock* const start = code_.new_block();
      jump->addCase(builder_.getInt32(node_code(nodes_, i)), start);
      builder_.SetInsertPoint(start);
      frame_.uniform.clear();
      for (size_t k = 0; k < regions_.uniform.size(); ++k)
        frame_.uniform.push_back(builder_.CreateLoad(regions_.uniform[k], results[k + 1]));
      run_rows(code_, *regions_.functions[i], rows_[i], results, static_cast<unsigned>(kernel_.arg_size()),
               vector_masks_);
      builder_.CreateBr(choose);
    }
    builder_.SetInsertPoint(end);
    builder_.CreateRetVoid();
  }

  void run_masked() {
    llvm::Type* const word = builder_.getInt32Ty();
    const auto first = [&](const ThreadArray& array) {
      return code_.call("xaas_slot", {frame_.block, builder_.getInt32(0), builder_.getInt32(array.number),
                                      builder_.getInt64(array.before), builder_.getInt64(array.size)});
    };
    llvm::Value *const nodes = first(regions_.nodes), *const masks = first(regions_.masks),
                       *const run = first(regions_.run);
    code_.for_each_thread([&](const Thread& thread) {
      builder_.CreateStore(builder_.getInt32(node_code(nodes_, 0)),
                           builder_.CreateGEP(word, nodes, thread.t));
    });
    llvm::BasicBlock *const schedule = code_.new_block(), *const round = code_.new_block(),
                            *const apart = code_.new_block(), *const together = code_.new_block(),
                            *const end = code_.new_block();
    const auto is = [&](llvm::Value* chosen, Round what) {
      return builder_.CreateICmpEQ(chosen, builder_.getInt32(static_cast<unsigned>(what)));
    };
    builder_.CreateBr(schedule);
    builder_.SetInsertPoint(schedule);
    llvm::Value* const chosen = code_.call("xaas_schedule", {frame_.block, nodes, masks, run});
    builder_.CreateCondBr(is(chosen, Round::all_ended), end, round);
    builder_.SetInsertPoint(round);
    if (llvm::Function* const check = meeting_check(module_))
      builder_.CreateCall(check, {frame_.block, nodes, masks, run});
    builder_.CreateCondBr(is(chosen, Round::all_at_one_node), together, apart);
    builder_.SetInsertPoint(together);
    run_at_one_node(nodes, *apart);
    builder_.CreateBr(schedule);
    builder_.SetInsertPoint(apart);
    run_apart(nodes, run);
    builder_.CreateBr(schedule);
    builder_.SetInsertPoint(end);
    builder_.CreateRetVoid();
  }

  // Jumps by a node's code; `run` builds what is done with its region. `other`: where to jump for regions
  // that are not among `which`.
  void choose_region(llvm::Value* code, llvm::BasicBlock* other,
                     const std::function<bool(llvm::Function&)>& which,
                     const std::function<void(llvm::Function&)>& run) {
    llvm::BasicBlock* const done = code_.new_block();
    llvm::SwitchInst* const jump = builder_.CreateSwitch(code, other ? other : done);
    for (size_t i = 0; i < regions_.functions.size(); ++i) {
      if (!which(*regions_.functions[i]))
        continue;
      llvm::BasicBlock* const start = code_.new_block();
      jump->addCase(builder_.getInt32(node_code(nodes_, i)), start);
      builder_.SetInsertPoint(start);
      run(*regions_.functions[i]);
      builder_.CreateBr(done);
    }
    builder_.SetInsertPoint(done);
  }

  // A loop that LLVM cannot vectorize would only add code.
  void run_at_one_node(llvm::Value* nodes, llvm::BasicBlock& apart) {
    llvm::Type* const word = builder_.getInt32Ty();
    choose_region(builder_.CreateLoad(word, nodes), &apart, is_parallel, [&](llvm::Function& region) {
      run_each(code_, region, vector_masks_, [&](const Thread& thread, llvm::CallInst& call) {
        return builder_.CreateStore(builder_.CreateExtractValue(&call, 0),
                                    builder_.CreateGEP(word, nodes, thread.t));
      });
    });
  }

  void run_apart(llvm::Value* nodes, llvm::Value* run) {
    llvm::Type* const word = builder_.getInt32Ty();
    code_.for_each_thread([&](const Thread& thread) {
      llvm::Value* const place = builder_.CreateGEP(word, nodes, thread.t);
      llvm::Value* const runs =
          builder_.CreateLoad(builder_.getInt8Ty(), builder_.CreateGEP(builder_.getInt8Ty(), run, thread.t));
      llvm::BasicBlock *const choose = code_.new_block(), *const done = code_.new_block();
      builder_.CreateCondBr(builder_.CreateICmpNE(runs, builder_.getInt8(0)), choose, done);
      builder_.SetInsertPoint(choose);
      const auto all = [](llvm::Function&) { return true; };
      choose_region(builder_.CreateLoad(word, place), nullptr, all, [&](llvm::Function& region) {
        llvm::CallInst* const call = builder_.CreateCall(&region, code_.arguments_of(thread));
        builder_.CreateStore(builder_.CreateExtractValue(call, 0), place);
      });
      builder_.CreateBr(done);
      builder_.SetInsertPoint(done);
    });
  }

  llvm::Function& kernel_;
  const Nodes& nodes_;
  const Regions& regions_;
  const std::vector<RowPlan>& rows_;
  bool vector_masks_;
  llvm::Module& module_;
  BlockCode code_;
  llvm::IRBuilder<>& builder_;
  Frame& frame_;
};

} // namespace

llvm::Value* read_argument(llvm::IRBuilder<>& builder, const llvm::Argument& parameter,
                           llvm::Value& arguments) {
  llvm::Function* const read = parameter.getParent()->getParent()->getFunction("xaas_argument");
  llvm::Value* const place = builder.CreateCall(read, {&arguments, builder.getInt32(parameter.getArgNo())});
  return parameter.hasByValAttr() ? place : builder.CreateLoad(parameter.getType(), place);
}

llvm::Function* make_block_function(llvm::Function& kernel, const Nodes& nodes, const Regions& regions,
                                    const std::vector<RowPlan>& rows, bool vector_masks) {
  return BlockFunction(kernel, nodes, regions, rows, vector_masks).run();
}

} // namespace xaas::cpukernel
