// One program in one tree, in the form that every runtime's adapter gets.
#pragma once

#include <xaas/runtimes/knowledge.h>

#include <xaas/run/run.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::run {

struct Program {
  fs::path tree;
  std::vector<Bind> binds;                        // in this order; destinations have no links and exist
  std::string directory;                          // the working directory
  std::map<std::string, std::string> environment; // complete, unless `inherits`
  bool inherits = false; // the program also gets the variables with which the runtime is started
  std::vector<const runtimes::GpuKind*> gpus;
  std::vector<std::string> devices; // files of /dev, for a runtime that makes its own /dev
  unsigned descriptors = 0;         // open files that it needs besides the standard three
  std::vector<std::string> command;
};

// The files of the machine that every program sees, where the tree leaves a place for them. `optional`: a
// read-only tree need not have the mount point.
std::vector<Bind> binds_of_machine(const fs::path& tree);

// A runtime that is installed.
struct Found {
  const runtimes::Runtime* runtime = nullptr;
  fs::path program;
  bool separate = false; // gives every program its own user namespace
};

} // namespace xaas::run
