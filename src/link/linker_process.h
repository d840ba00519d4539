// lld in a child process.
#pragma once

#include <xaas/base/file.h>

#include <string>
#include <vector>

namespace xaas::link {

// A file that the child looks at before lld does.
struct VettedInput {
  std::string path; // in the directory
  std::string name;
  bool script = false;
  bool bitcode = false; // may be bitcode
};

// Runs lld with `arguments` in `directories.front()` and returns what it printed. It may read and write those
// directories and read `files` (links in the first), and nothing else (base/confine.h), and has
// `cpu_seconds`; no file that it writes is larger than `max_bytes`. An error of the link (with lld's
// messages), a crash, or too much memory or time: failed; a refused input: integrity.
Result<std::string> run_linker(const std::vector<fs::path>& directories,
                               const std::vector<std::string>& arguments,
                               const std::vector<VettedInput>& inputs, const std::vector<fs::path>& files,
                               double cpu_seconds, uint64_t max_bytes);

} // namespace xaas::link
