// Problem: some kernels cannot be cut at the places where threads meet. A function that is called through a
// pointer or calls itself may contain such places, and they are in no one function.
//
//     __device__ int depth(Node* n) { return n ? 1 + depth(n->next[threadIdx.x % 2]) : 0; }
//     __global__ void k(Shape** shapes, float* out) {
//       out[threadIdx.x] = shapes[threadIdx.x]->area();    // virtual, and has a barrier
//     }
//
// Approach: each thread runs the kernel's code as it is, on a stack of its own. At a barrier, an operation of
// a warp and the end of a loop in which it waits, it calls the run-time library (library/fibers.c), which
// runs the other threads of the block until all have come. The kernel becomes
//
//     k.block(arguments, block):  xaas_run_fibers(arguments, block, k.fiber, bytes of fixed shared memory)
//     k.fiber(arguments):         the kernel, for the thread that runs
//
// A function that is called through a pointer keeps its parameters, so it asks the library for its thread:
// once, at its start, since a call never leaves its fiber. Shared variables of such functions have the same
// place in all kernels; those that only a kernel names follow.
//
// Each thread costs a switch of some nanoseconds wherever it waits, and nothing is vectorized over threads.
// So this is for the kernels that no other form has; and a test compares the other forms with it.
//
// What fibers cannot do either: inline assembly and intrinsics that nothing on a CPU does, functions without
// code, constants that contain the address of a shared variable, which is another one in each block.
//
// Rejected: LLVM's coroutines, whose callers must be coroutines, too; fibers for functions that need them and
// another form for the rest of a kernel, as all threads of a block would have to be in one of them.
#include "fibers.h"
#include "kernel.h"
#include "library.h"
#include "meetings.h"
#include "shared.h"
#include "waits.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>

namespace xaas::cpukernel {

namespace {

// A function of library/fibers.c.
llvm::FunctionCallee library_function(llvm::Module& module, const char* name, llvm::Type* result,
                                      llvm::ArrayRef<llvm::Type*> parameters) {
  llvm::FunctionCallee function =
      module.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  auto* const declaration = llvm::cast<llvm::Function>(function.getCallee());
  declaration->addFnAttr(provided_attribute);
  declaration->addFnAttr(llvm::Attribute::NoUnwind);
  return function;
}

class FiberFunction {
public:
  FiberFunction(llvm::Function& function, const SharedVariables& shared, const SharedPlaces& places)
      : function_(function), shared_(shared), places_(places), module_(*function.getParent()),
        builder_(function.getContext()), pointer_(builder_.getPtrTy()), word_(builder_.getInt32Ty()) {}

  void run() {
    const std::vector<llvm::BasicBlock*> waits = find_waits(function_);
    llvm::BasicBlock& entry = function_.getEntryBlock();
    builder_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    find_thread();
    place_shared();
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function_))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
          call && callee_of(*call) && !intrinsic_name(*callee_of(*call)).empty())
        calls.push_back(call);
    for (llvm::CallInst* call : calls)
      replace(*call);
    for (llvm::BasicBlock* end : waits) {
      builder_.SetInsertPoint(end->getTerminator());
      call("xaas_fiber_yield", builder_.getVoidTy(), {});
    }
    function_.addFnAttr("probe-stack",
                        "inline-asm"); // or a large frame would reach beyond the page below the stack
    function_.addFnAttr(llvm::Attribute::NoUnwind);
    for (const llvm::Attribute::AttrKind kind : // which held without the calls
         {llvm::Attribute::Memory, llvm::Attribute::NoRecurse, llvm::Attribute::NoSync,
          llvm::Attribute::Speculatable, llvm::Attribute::WillReturn})
      function_.removeFnAttr(kind);
  }

private:
  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    std::vector<llvm::Type*> types;
    for (const llvm::Value* argument : arguments)
      types.push_back(argument->getType());
    return builder_.CreateCall(library_function(module_, name, result, types), arguments);
  }

  // The thread and its block, for the whole function.
  void find_thread() {
    auto* const place = llvm::cast<llvm::CallInst>(call("xaas_this_fiber", pointer_, {}));
    place->getCalledFunction()->setDoesNotAccessMemory(); // the same as long as the function runs
    place->getCalledFunction()->addFnAttr(llvm::Attribute::WillReturn);
    for (const char* part : {"block", "x", "y", "z", "t", "dynamic"})
      parts_.push_back(builder_.CreateCall(module_.getFunction(std::string("xaas_place_") + part), {place}));
  }

  llvm::Value& block() { return *parts_[0]; }
  llvm::Value& thread() { return *parts_[4]; }

  void place_shared() {
    std::map<const llvm::Value*, llvm::Value*> addresses;
    for (llvm::Instruction& instruction : llvm::instructions(function_))
      for (llvm::Use& use : instruction.operands()) {
        auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(use.get());
        if (!variable || !is_shared(variable, shared_))
          continue;
        llvm::Value*& address = addresses[variable];
        if (!address)
          address = llvm::is_contained(shared_.dynamic, variable)
                        ? parts_[5]
                        : builder_.CreateCall(
                              module_.getFunction("xaas_shared"),
                              {&block(), builder_.getInt32(static_cast<uint32_t>(places_.at(variable)))});
        use.set(address);
      }
  }

  void replace(llvm::CallInst& old) {
    builder_.SetInsertPoint(&old);
    const std::string name = intrinsic_name(*callee_of(old));
    llvm::Value* result = nullptr;
    if (const std::optional<Rule> rule = meeting_of(old))
      result = rule->meeting == Meeting::warp ? meet_lanes(old, *rule) : meet_threads(old, name);
    else if (is_counted_barrier(old))
      result = meet_threads(old, name);
    else {
      std::vector<llvm::Value*> arguments(parts_.begin(), parts_.begin() + 5);
      arguments.insert(arguments.end(), old.arg_begin(), old.arg_end());
      result = builder_.CreateCall(module_.getFunction(thread_prefix + name), arguments);
    }
    if (!old.getType()->isVoidTy())
      old.replaceAllUsesWith(result);
    old.eraseFromParent();
  }

  llvm::Value* meet_lanes(llvm::CallInst& old, const Rule& rule) {
    llvm::Value* const mask = old.getArgOperand(static_cast<unsigned>(rule.mask));
    if (rule.published < 0)
      return call("xaas_fiber_sync", builder_.getVoidTy(), {mask});
    llvm::Value* const own =
        published_value(builder_, *old.getArgOperand(static_cast<unsigned>(rule.published)));
    llvm::Value* const values = call("xaas_fiber_meet", pointer_, {mask, own});
    return read_published(builder_, old, *values, block(), thread());
  }

  // A barrier of the block. Operands: its number; how many threads it is for, if the name says so; a
  // predicate.
  llvm::Value* meet_threads(llvm::CallInst& old, llvm::StringRef name) {
    llvm::Value* const number = old.getArgOperand(0);
    llvm::Value* const count = name.ends_with("_count") ? old.getArgOperand(1) : builder_.getInt32(0);
    if (!name.consume_front("barrier_cta_red_"))
      return call(name.contains("_arrive_") ? "xaas_fiber_arrive" : "xaas_fiber_barrier",
                  builder_.getVoidTy(), {number, count});
    llvm::Value* const predicate = builder_.CreateZExt(old.getArgOperand(old.arg_size() - 1), word_);
    llvm::Value* const all = call("xaas_fiber_reduce", word_, {number, count, predicate});
    if (name.starts_with("and"))
      return builder_.CreateICmpSLT(all, builder_.getInt32(0)); // the highest bit: true in all
    llvm::Value* const with_true = builder_.CreateAnd(all, builder_.getInt32(INT32_MAX));
    return name.starts_with("or") ? builder_.CreateICmpNE(with_true, builder_.getInt32(0)) : with_true;
  }

  llvm::Function& function_;
  const SharedVariables& shared_;
  const SharedPlaces& places_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::Type *pointer_, *word_;
  std::vector<llvm::Value*> parts_; // block, x, y, z, t and the address of dynamic shared memory
};

} // namespace

std::string need_of_fibers(llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (is_of_unknown_size(instruction))
      return "a variable whose size is not known before the kernel runs";
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && is_counted_barrier(*call))
      return "a barrier for some of the block's threads";
  }
  return {};
}

std::string obstacle_to_fibers(llvm::Function& function, const SharedVariables& shared) {
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (std::string unknown = unknown_call(instruction); !unknown.empty())
      return unknown;
  std::vector<llvm::Constant*> variables(shared.fixed.begin(), shared.fixed.end());
  variables.insert(variables.end(), shared.dynamic.begin(), shared.dynamic.end());
  llvm::convertUsersOfConstantsToInstructions(variables, &function);
  return names_shared_in_memory(function, shared) ? "a constant with the address of a shared variable"
                                                  : std::string();
}

void run_on_fiber(llvm::Function& function, const SharedVariables& shared, const SharedPlaces& places) {
  FiberFunction(function, shared, places).run();
}

llvm::Function* make_fiber_kernel(llvm::Function& kernel, uint64_t shared_bytes) {
  llvm::Module& module = *kernel.getParent();
  llvm::IRBuilder<> builder(kernel.getContext());
  llvm::Type *const pointer = builder.getPtrTy(), *const nothing = builder.getVoidTy();
  llvm::Function* const fiber =
      llvm::Function::Create(llvm::FunctionType::get(nothing, {pointer}, false),
                             llvm::GlobalValue::InternalLinkage, kernel.getName() + ".fiber", module);
  fiber->addFnAttrs(llvm::AttrBuilder(kernel.getContext(), kernel.getAttributes().getFnAttrs()));
  fiber->addFnAttr(llvm::Attribute::NoInline);
  fiber->splice(fiber->begin(), &kernel);
  llvm::BasicBlock& entry = fiber->getEntryBlock();
  builder.SetInsertPoint(&entry, entry.begin());
  for (llvm::Argument& parameter : kernel.args())
    parameter.replaceAllUsesWith(read_argument(builder, parameter, *fiber->getArg(0)));

  llvm::Function* const run =
      llvm::Function::Create(llvm::FunctionType::get(nothing, {pointer, pointer}, false),
                             llvm::GlobalValue::InternalLinkage, kernel.getName() + ".block", module);
  run->addFnAttr(llvm::Attribute::NoUnwind);
  builder.SetInsertPoint(llvm::BasicBlock::Create(kernel.getContext(), "", run));
  builder.CreateCall(
      library_function(module, "xaas_run_fibers", nothing, {pointer, pointer, pointer, builder.getInt32Ty()}),
      {run->getArg(0), run->getArg(1), fiber, builder.getInt32(static_cast<uint32_t>(shared_bytes))});
  builder.CreateRetVoid();
  return run;
}

} // namespace xaas::cpukernel
