// Problem: run the regions of a kernel for all threads of a block.
//
// If all threads agree on the nodes, each region is a loop over the threads, and what its last thread returns
// is what all return:
//
//     for (node = 0; node != ended;)
//       switch (node) {
//       case 0: for z, y, x: node = region0(..., x, y, z, t)
//       case 1: for z, y, x: node = region1(..., x, y, z, t)
//       }
//
// Else each thread has a node of its own, and rounds of all threads that may run follow each other until all
// have ended (xaas_schedule() in library/thread.c):
//
//     while (xaas_schedule(block, nodes, masks, run))
//       for z, y, x: if (run[t]) switch (nodes[t]) { case 0: nodes[t] = region0(..., x, y, z, t); ... }
//
// Between nodes, threads are independent of each other. The loops say so (`llvm.loop.parallel_accesses`), so
// that LLVM vectorizes them without asking which addresses may be equal. This does not hold for atomic and
// volatile accesses, nor for a thread's own variables that did not become registers: they have one place for
// all threads of the loop.
//
// The innermost loop is over x, because the index of a thread in x usually is the index of its data.
#include "kernel.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <array>
#include <functional>

namespace xaas::cpukernel {

namespace {

bool is_parallel(const llvm::Function& region) {
  return llvm::none_of(llvm::instructions(region), [](const llvm::Instruction& instruction) {
    return llvm::isa<llvm::AllocaInst>(instruction) || instruction.isAtomic() || instruction.isVolatile() ||
           (llvm::isa<llvm::CallBase>(instruction) && instruction.mayWriteToMemory() &&
            !llvm::isa<llvm::IntrinsicInst>(instruction));
  });
}

class BlockFunction {
public:
  BlockFunction(llvm::Function& kernel, const Nodes& nodes, const Regions& regions)
      : kernel_(kernel), nodes_(nodes), regions_(regions), module_(*kernel.getParent()),
        context_(module_.getContext()), builder_(context_) {}

  llvm::Function* run() {
    llvm::Type* const pointer = llvm::PointerType::get(context_, 0);
    function_ = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {pointer, pointer}, false),
        llvm::GlobalValue::InternalLinkage, kernel_.getName() + ".block", module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    block_ = function_->getArg(1);
    function_->getArg(1)->addAttr(llvm::Attribute::NoAlias);
    builder_.SetInsertPoint(new_block());
    read_arguments();
    for (unsigned i = 0; i < sizes_.size(); ++i)
      sizes_[i] = call("xaas_size", {block_, builder_.getInt32(i)});
    if (nodes_.agree)
      run_together();
    else
      run_masked();
    return function_;
  }

private:
  llvm::BasicBlock* new_block() { return llvm::BasicBlock::Create(context_, "", function_); }

  llvm::Value* call(const char* function, llvm::ArrayRef<llvm::Value*> arguments) {
    return builder_.CreateCall(module_.getFunction(function), arguments);
  }

  // A launch passes a pointer to each argument. A structure is passed as a pointer to it in the kernel, too;
  // a thread that changes its own copies it (cpukernel.cpp).
  void read_arguments() {
    for (llvm::Argument& parameter : kernel_.args()) {
      llvm::Value* place =
          call("xaas_argument", {function_->getArg(0), builder_.getInt32(parameter.getArgNo())});
      arguments_.push_back(parameter.hasByValAttr() ? place
                                                    : builder_.CreateLoad(parameter.getType(), place));
    }
  }

  struct Thread {
    llvm::Value *x, *y, *z, *t;
  };

  void run_together() {
    llvm::Value* const node = builder_.CreateAlloca(builder_.getInt32Ty());
    builder_.CreateStore(builder_.getInt32(0), node);
    llvm::BasicBlock* const choose = new_block();
    llvm::BasicBlock* const end = new_block();
    builder_.CreateBr(choose);
    builder_.SetInsertPoint(choose);
    llvm::SwitchInst* const jump =
        builder_.CreateSwitch(builder_.CreateLoad(builder_.getInt32Ty(), node), end);
    for (size_t i = 0; i < regions_.functions.size(); ++i) {
      llvm::BasicBlock* const start = new_block();
      jump->addCase(builder_.getInt32(node_code(nodes_, i)), start);
      builder_.SetInsertPoint(start);
      llvm::Value* result = nullptr; // of the last thread
      llvm::MDNode* const group =
          is_parallel(*regions_.functions[i]) ? llvm::MDNode::getDistinct(context_, {}) : nullptr;
      for_each_thread(
          [&](const Thread& thread) {
            llvm::CallInst* const code = run_region(i, thread);
            code->setMetadata(llvm::LLVMContext::MD_access_group, group);
            result = code;
          },
          group);
      builder_.CreateStore(result, node);
      builder_.CreateBr(choose);
    }
    builder_.SetInsertPoint(end);
    builder_.CreateRetVoid();
  }

  void run_masked() {
    llvm::Type* const word = builder_.getInt32Ty();
    const auto first = [&](const ThreadArray& array) {
      return call("xaas_slot", {block_, builder_.getInt32(0), builder_.getInt32(array.number),
                                builder_.getInt64(array.before), builder_.getInt64(array.size)});
    };
    llvm::Value *const nodes = first(regions_.nodes), *const masks = first(regions_.masks),
                       *const run = first(regions_.run);
    for_each_thread([&](const Thread& thread) {
      builder_.CreateStore(builder_.getInt32(node_code(nodes_, 0)),
                           builder_.CreateGEP(word, nodes, thread.t));
    });
    llvm::BasicBlock *const schedule = new_block(), *const round = new_block(), *const end = new_block();
    builder_.CreateBr(schedule);
    builder_.SetInsertPoint(schedule);
    builder_.CreateCondBr(call("xaas_schedule", {block_, nodes, masks, run}), round, end);
    builder_.SetInsertPoint(round);
    for_each_thread([&](const Thread& thread) {
      llvm::Value* const place = builder_.CreateGEP(word, nodes, thread.t);
      llvm::Value* const runs =
          builder_.CreateLoad(builder_.getInt8Ty(), builder_.CreateGEP(builder_.getInt8Ty(), run, thread.t));
      llvm::BasicBlock *const choose = new_block(), *const done = new_block();
      builder_.CreateCondBr(builder_.CreateICmpNE(runs, builder_.getInt8(0)), choose, done);
      builder_.SetInsertPoint(choose);
      llvm::SwitchInst* const jump = builder_.CreateSwitch(builder_.CreateLoad(word, place), done);
      for (size_t i = 0; i < regions_.functions.size(); ++i) {
        llvm::BasicBlock* const start = new_block();
        jump->addCase(builder_.getInt32(node_code(nodes_, i)), start);
        builder_.SetInsertPoint(start);
        builder_.CreateStore(run_region(i, thread), place);
        builder_.CreateBr(done);
      }
      builder_.SetInsertPoint(done);
    });
    builder_.CreateBr(schedule);
    builder_.SetInsertPoint(end);
    builder_.CreateRetVoid();
  }

  llvm::CallInst* run_region(size_t index, const Thread& thread) {
    std::vector<llvm::Value*> arguments = arguments_;
    arguments.insert(arguments.end(), {block_, thread.x, thread.y, thread.z, thread.t});
    return builder_.CreateCall(regions_.functions[index], arguments);
  }

  void for_each_thread(const std::function<void(const Thread&)>& body, llvm::MDNode* parallel = nullptr) {
    loop(sizes_[2], parallel, [&](llvm::Value* z) {
      loop(sizes_[1], parallel, [&](llvm::Value* y) {
        llvm::Value* const row =
            builder_.CreateNUWMul(builder_.CreateNUWAdd(builder_.CreateNUWMul(z, sizes_[1]), y), sizes_[0]);
        loop(sizes_[0], parallel, [&](llvm::Value* x) { body({x, y, z, builder_.CreateNUWAdd(row, x)}); });
      });
    });
  }

  // Runs `body` for 0 to count - 1; count is not 0. Loops are simplified and rotated, as LLVM wants them.
  void loop(llvm::Value* count, llvm::MDNode* parallel, const std::function<void(llvm::Value*)>& body) {
    llvm::BasicBlock *const before = builder_.GetInsertBlock(), *const start = new_block();
    builder_.CreateBr(start);
    builder_.SetInsertPoint(start);
    llvm::PHINode* const index = builder_.CreatePHI(count->getType(), 2);
    index->addIncoming(builder_.getInt32(0), before);
    body(index);
    llvm::Value* const next = builder_.CreateAdd(index, builder_.getInt32(1), "", true, true);
    llvm::BasicBlock* const after = new_block();
    index->addIncoming(next, builder_.GetInsertBlock());
    llvm::Instruction* const jump = builder_.CreateCondBr(builder_.CreateICmpULT(next, count), start, after);
    if (parallel)
      jump->setMetadata(llvm::LLVMContext::MD_loop, independent(*parallel));
    builder_.SetInsertPoint(after);
  }

  llvm::MDNode* independent(llvm::MDNode& group) {
    llvm::MDNode* const accesses =
        llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), &group});
    llvm::MDNode* const loop = llvm::MDNode::getDistinct(context_, {nullptr, accesses});
    loop->replaceOperandWith(0, loop); // by which LLVM knows a loop
    return loop;
  }

  llvm::Function& kernel_;
  const Nodes& nodes_;
  const Regions& regions_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  llvm::Value* block_ = nullptr;
  std::vector<llvm::Value*> arguments_;
  std::array<llvm::Value*, 3> sizes_{};
};

// The table's constants.
class Table {
public:
  explicit Table(llvm::Module& module)
      : module_(module), context_(module.getContext()), pointer_(llvm::PointerType::get(context_, 0)),
        word_(llvm::Type::getInt32Ty(context_)) {}

  llvm::GlobalVariable* make(const std::vector<Entry>& kernels,
                             const std::vector<llvm::GlobalVariable*>& variables, const std::string& image) {
    llvm::StructType* const kernel =
        llvm::StructType::get(context_, {pointer_, pointer_, pointer_, word_, word_, word_});
    std::vector<llvm::Constant*> kernel_entries, variable_entries;
    for (const Entry& entry : kernels)
      kernel_entries.push_back(llvm::ConstantStruct::get(
          kernel, {text(entry.name), entry.run ? entry.run : null(), entry.run ? null() : text(entry.reason),
                   word(entry.shared_bytes), word(entry.thread_bytes), word(entry.arrays)}));
    llvm::Type* const bytes = llvm::Type::getInt64Ty(context_);
    llvm::StructType* const variable = llvm::StructType::get(context_, {pointer_, pointer_, bytes});
    for (llvm::GlobalVariable* each : variables)
      variable_entries.push_back(llvm::ConstantStruct::get(
          variable,
          {text(each->getName().str()), each,
           llvm::ConstantInt::get(bytes, module_.getDataLayout().getTypeAllocSize(each->getValueType()))}));
    llvm::StructType* const table =
        llvm::StructType::get(context_, {pointer_, pointer_, pointer_, word_, word_, pointer_});
    return constant(llvm::ConstantStruct::get(table, {text(image), array(kernel, kernel_entries),
                                                      array(variable, variable_entries), word(kernels.size()),
                                                      word(variables.size()), null()}),
                    false);
  }

private:
  llvm::Constant* null() const { return llvm::ConstantPointerNull::get(pointer_); }
  llvm::Constant* word(uint64_t value) const { return llvm::ConstantInt::get(word_, value); }
  llvm::Constant* text(const std::string& value) {
    return constant(llvm::ConstantDataArray::getString(context_, value), true);
  }
  llvm::Constant* array(llvm::Type* type, const std::vector<llvm::Constant*>& elements) {
    return constant(llvm::ConstantArray::get(llvm::ArrayType::get(type, elements.size()), elements), true);
  }
  llvm::GlobalVariable* constant(llvm::Constant* value, bool is_constant) {
    return new llvm::GlobalVariable(module_, value->getType(), is_constant, llvm::GlobalValue::PrivateLinkage,
                                    value); // the module owns it
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::PointerType* pointer_;
  llvm::Type* word_;
};

} // namespace

llvm::Function* make_block_function(llvm::Function& kernel, const Nodes& nodes, const Regions& regions) {
  return BlockFunction(kernel, nodes, regions).run();
}

void add_table(llvm::Module& module, const std::vector<Entry>& kernels,
               const std::vector<llvm::GlobalVariable*>& variables, const std::string& image) {
  llvm::LLVMContext& context = module.getContext();
  llvm::GlobalVariable* const table = Table(module).make(kernels, variables, image);
  llvm::Type* const nothing = llvm::Type::getVoidTy(context);
  const llvm::FunctionCallee add =
      module.getOrInsertFunction("xaas_register_module", nothing, table->getType());
  llvm::Function* const constructor = llvm::Function::Create(
      llvm::FunctionType::get(nothing, false), llvm::GlobalValue::InternalLinkage, "xaas.register", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", constructor));
  builder.CreateCall(add, {table});
  builder.CreateRetVoid();
  // Before the constructors that register the host's part, which have the default priority.
  llvm::appendToGlobalCtors(module, constructor, 101);
}

} // namespace xaas::cpukernel
