// The table in which the run-time library finds the kernels of a module.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Constant;
class Function;
class GlobalVariable;
class Module;
} // namespace llvm

namespace xaas::cpukernel {

// A kernel as the table lists it. Without `run` it is refused, for the reason. `checks`: describe_checks() of
// a kernel that has them.
struct Entry {
  std::string name;
  llvm::Function* run = nullptr;
  std::string reason;
  uint64_t shared_bytes = 0; // of fixed shared variables
  uint64_t thread_bytes = 0;
  uint32_t arrays = 0;
  bool fibers = false;
  llvm::Constant* checks = nullptr;
};

// The table (library/block.h). `memory`: all variables, where kernels have checks.
struct TableContents {
  std::vector<Entry> kernels;
  std::vector<llvm::GlobalVariable*> variables, memory;
};

// Adds it, and a constructor that registers it.
void add_table(llvm::Module& module, const TableContents& contents, const std::string& image);

} // namespace xaas::cpukernel
