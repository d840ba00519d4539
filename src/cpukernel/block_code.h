// The code of a function that runs a block's threads.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <functional>
#include <vector>

namespace llvm {
class Function;
class MDNode;
class Module;
} // namespace llvm

namespace xaas::cpukernel {

// The function that is made, and its values.
struct Frame {
  llvm::Function* function = nullptr;
  std::vector<llvm::Value*> arguments = {}; // of the kernel
  llvm::Value* block = nullptr;
  std::vector<llvm::Value*> uniform = {}; // for the region that runs
  std::array<llvm::Value*, 3> sizes{};    // of the block
};

// Its place in the block, and its number.
struct Thread {
  llvm::Value *x, *y, *z, *t;
};

// Variables for what a region returns: the next node, and uniform values. They are separate, because no
// loop with a structure is vectorized.
using Results = std::vector<llvm::AllocaInst*>;

// What is built at the builder's place, in the frame's function.
class BlockCode {
public:
  explicit BlockCode(llvm::Module& module) : builder(module.getContext()), module_(module) {}

  llvm::BasicBlock* new_block() { return llvm::BasicBlock::Create(module_.getContext(), "", frame.function); }

  // Of library/thread.c.
  llvm::Value* call(const char* function, llvm::ArrayRef<llvm::Value*> arguments);

  // The block's sizes, for the frame.
  void read_sizes();

  // A variable of the function.
  llvm::AllocaInst* allocate(llvm::Type* type);

  // Runs `body` where a < b, without a sign.
  void if_less(llvm::Value* a, llvm::Value* b, const std::function<void()>& body);

  // Of a region.
  std::vector<llvm::Value*> arguments_of(const Thread& thread) const;

  // Of functions that say something about a row: those of its first thread, and its length.
  std::vector<llvm::Value*> arguments_of_row(const Thread& start) const;

  // With the first thread of each row.
  void for_each_row(const std::function<void(const Thread&)>& body);
  void for_each_thread(const std::function<void(const Thread&)>& body);

  // Runs `body` for `from` up to before `to`, which is larger. Loops are simplified and rotated, as LLVM
  // wants them.
  void loop(llvm::Value* from, llvm::Value* to, llvm::MDNode* properties,
            const std::function<void(llvm::Value*)>& body);

  llvm::IRBuilder<> builder;
  Frame frame = {};

private:
  llvm::Module& module_;
};

} // namespace xaas::cpukernel
