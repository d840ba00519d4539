// lld in a worker.
#pragma once

#include <xaas/base/file.h>

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

// Runs lld with `arguments` in `directories.front()` and returns what it printed. It may read and write these
// directories and read `files` (links in the first), and nothing else (base/confine.h). It has `cpu_seconds`
// of CPU time, and no file that it writes is larger than `max_bytes`. A link error (with lld's messages), a
// crash, or too much memory or time is failed; a refused input is integrity. Call it from a process with one
// thread.
Result<std::string> run_linker(const std::vector<fs::path>& directories,
                               const std::vector<std::string>& arguments,
                               const std::vector<VettedInput>& inputs, const std::vector<fs::path>& files,
                               double cpu_seconds, uint64_t max_bytes);

} // namespace xaas::link
