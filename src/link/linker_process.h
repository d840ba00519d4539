// lld in a worker.
#pragma once

#include <xaas/base/file.h>
#include <xaas/lower/plugins.h>

#include <string>
#include <vector>

namespace xaas::link {

// A file that the worker checks before lld reads it.
struct VettedInput {
  std::string path; // in the directory
  std::string name;
  bool script = false;
  bool bitcode = false; // may be bitcode
};

// What the linker may use.
struct LinkerLimits {
  double cpu_seconds = 0;
  uint64_t max_bytes = 0;                     // of a file that it writes
  std::vector<lower::PluginUse> plugins = {}; // loaded before an input is read
};

// Runs lld with `arguments` in `directories.front()` and returns what it printed. It may read and write these
// directories, read `files` (links in the first) and what plugins need, and nothing else (base/confine.h). A
// link error (with lld's messages), a crash, or too much memory or time is failed; a refused input is
// integrity. Call it from a process with one thread.
Result<std::string> run_linker(const std::vector<fs::path>& directories,
                               const std::vector<std::string>& arguments,
                               const std::vector<VettedInput>& inputs, const std::vector<fs::path>& files,
                               const LinkerLimits& limits);

} // namespace xaas::link
