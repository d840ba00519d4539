// Where the threads of a block meet.
#pragma once

#include "meetings.h"

#include <xaas/cpukernel/cpukernel.h>

#include <set>
#include <string>
#include <vector>

namespace llvm {
class AllocaInst;
class BasicBlock;
class CallBase;
class Constant;
class Function;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// A place in a kernel where a thread can stop: the start of `entry`, which only threads that stop reach.
struct Node {
  llvm::BasicBlock* entry = nullptr;
  Meeting meeting = Meeting::split;
  llvm::Constant* place = nullptr; // in the source, for checks (checks.h)
};

// A kernel with the code cut at its nodes. The first is the kernel's entry.
struct Nodes {
  std::vector<Node> nodes;
  // Variables of a thread for what the others must see: the value that it publishes before the first of two
  // nodes, between which an intrinsic reads those of the other threads; and the lanes that it waits for. Null
  // where there is none.
  llvm::AllocaInst* published = nullptr; // of 64 bits
  llvm::AllocaInst* lanes = nullptr;     // of 32 bits
  bool agree = true;                     // all threads of a block stop at the same nodes in the same order
  std::string reason;                    // why not
};

// Cuts a kernel into which everything that depends on the thread has been inlined. An unsatisfied error names
// what this kernel has that cannot be done on a CPU. `shared`: the shared variables of the module.
Result<Nodes> find_nodes(llvm::Function& kernel, const std::set<const llvm::Value*>& shared);

// True if the result of a call depends on the thread that makes it, through the library's functions.
bool depends_on_thread(const llvm::CallBase& call);

} // namespace xaas::cpukernel
