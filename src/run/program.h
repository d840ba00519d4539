// One program in one tree, as every runtime is told of it.
#pragma once

#include <xaas/runtimes/knowledge.h>

#include <xaas/run/run.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::run {

struct Program {
  fs::path tree;
  std::vector<Bind> binds;                        // in this order; destinations without links, and there
  std::string directory;                          // that it starts in
  std::map<std::string, std::string> environment; // all of it
  std::vector<const runtimes::GpuKind*> gpus;
  std::vector<std::string> devices; // files of /dev, for a runtime with one of its own
  unsigned descriptors = 0;         // open files that it needs, beyond the standard three
  std::vector<std::string> command;
};

// A runtime that is there.
struct Found {
  const runtimes::Runtime* runtime = nullptr;
  fs::path program;
  bool separate = false; // every program gets a user namespace of its own
};

} // namespace xaas::run
