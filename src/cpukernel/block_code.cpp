#include "block_code.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

namespace xaas::cpukernel {

llvm::Value* BlockCode::call(const char* function, llvm::ArrayRef<llvm::Value*> arguments) {
  return builder.CreateCall(module_.getFunction(function), arguments);
}

void BlockCode::read_sizes() {
  for (unsigned i = 0; i < frame.sizes.size(); ++i)
    frame.sizes[i] = call("xaas_size", {frame.block, builder.getInt32(i)});
}

llvm::AllocaInst* BlockCode::allocate(llvm::Type* type) {
  return llvm::IRBuilder<>(&*frame.function->getEntryBlock().begin()).CreateAlloca(type);
}

void BlockCode::if_less(llvm::Value* a, llvm::Value* b, const std::function<void()>& body) {
  llvm::BasicBlock *const start = new_block(), *const after = new_block();
  builder.CreateCondBr(builder.CreateICmpULT(a, b), start, after);
  builder.SetInsertPoint(start);
  body();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

std::vector<llvm::Value*> BlockCode::arguments_of(const Thread& thread) const {
  std::vector<llvm::Value*> arguments = frame.arguments;
  arguments.insert(arguments.end(), {frame.block, thread.x, thread.y, thread.z, thread.t});
  arguments.insert(arguments.end(), frame.uniform.begin(), frame.uniform.end());
  return arguments;
}

std::vector<llvm::Value*> BlockCode::arguments_of_row(const Thread& start) const {
  std::vector<llvm::Value*> arguments = arguments_of(start);
  arguments.push_back(frame.sizes[0]);
  return arguments;
}

void BlockCode::for_each_row(const std::function<void(const Thread&)>& body) {
  llvm::Value* const none = builder.getInt32(0);
  loop(none, frame.sizes[2], nullptr, [&](llvm::Value* z) {
    loop(none, frame.sizes[1], nullptr, [&](llvm::Value* y) {
      body({none, y, z,
            builder.CreateNUWMul(builder.CreateNUWAdd(builder.CreateNUWMul(z, frame.sizes[1]), y),
                                 frame.sizes[0])});
    });
  });
}

void BlockCode::for_each_thread(const std::function<void(const Thread&)>& body) {
  for_each_row([&](const Thread& start) {
    loop(start.x, frame.sizes[0], nullptr,
         [&](llvm::Value* x) { body({x, start.y, start.z, builder.CreateNUWAdd(start.t, x)}); });
  });
}

void BlockCode::loop(llvm::Value* from, llvm::Value* to, llvm::MDNode* properties,
                     const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock *const before = builder.GetInsertBlock(), *const start = new_block();
  builder.CreateBr(start);
  builder.SetInsertPoint(start);
  llvm::PHINode* const index = builder.CreatePHI(to->getType(), 2);
  index->addIncoming(from, before);
  body(index);
  llvm::Value* const next = builder.CreateAdd(index, builder.getInt32(1), "", true, true);
  llvm::BasicBlock* const after = new_block();
  index->addIncoming(next, builder.GetInsertBlock());
  llvm::Instruction* const jump = builder.CreateCondBr(builder.CreateICmpULT(next, to), start, after);
  if (properties)
    jump->setMetadata(llvm::LLVMContext::MD_loop, properties);
  builder.SetInsertPoint(after);
}

} // namespace xaas::cpukernel
