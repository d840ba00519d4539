// Intrinsics at which threads of a block meet, and calls that nothing on a CPU does.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <string>

namespace llvm {
class CallBase;
class CallInst;
class Instruction;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// What a thread waits for at a node; library/thread.c has the same numbers.
enum class Meeting : unsigned {
  split, // for nothing: the thread stops so that others come as far
  warp,  // for the lanes of its mask
  block, // for all threads of its block
  write  // for another thread to write what it reads: it goes on whenever others have run
};

// What xaas_schedule() chose in masked execution; library/thread.c has the same numbers.
enum class Round : unsigned { all_ended, some, all_at_one_node };

struct Rule {
  Meeting meeting;
  int published = -1; // the operand that the other threads read, if any
  int mask = -1;      // the operand that names the lanes
};

// Nothing for other calls.
std::optional<Rule> meeting_of(const llvm::CallBase& call);

// Barriers for a number of threads that the program names, which only fibers have.
bool is_counted_barrier(const llvm::CallBase& call);

// A value as library/thread.c reads it: in 64 bits.
llvm::Value* published_value(llvm::IRBuilder<>& builder, llvm::Value& value);

// The result of such an intrinsic, from the values that all threads of the block have published.
llvm::Value* read_published(llvm::IRBuilder<>& builder, llvm::CallInst& call, llvm::Value& values,
                            llvm::Value& block, llvm::Value& thread);

// What a call has that nothing on a CPU does, for a message; empty if it can be done in some form.
std::string unknown_call(const llvm::Instruction& instruction);

// A variable of a thread whose size is not known before the kernel runs.
bool is_of_unknown_size(const llvm::Instruction& instruction);

} // namespace xaas::cpukernel
