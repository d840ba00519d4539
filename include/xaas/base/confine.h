// Confinement of a process that reads what may be hostile: a worker that was forked for it.
//
// Sources: landlock(7), seccomp(2), getrlimit(2).
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xaas {

// What the process may still do beside computing. Never: programs, other processes, sockets. Without
// Landlock, which paths the calls of a process that uses files reach is not limited.
struct Confinement {
  std::vector<fs::path> readable; // files
  std::vector<fs::path> writable; // directories, below which files may be read, made and removed
  uint64_t max_memory = 0;        // bytes of data on top of what it has; 0: no limit
  uint64_t max_file = 0;          // bytes of a file; 0: as many as of memory

  bool uses_files() const { return !readable.empty() || !writable.empty(); }
};

// For good, before anything is read. Without `readable` and `writable` no file can be opened any more; what
// is open stays so. Protections that are missing_confinement() are left out; an error where another cannot be
// put on.
Result<void> confine(const Confinement& confinement);

// Which of "Landlock" and "seccomp" this system does not give a process: an old kernel, an emulator, a
// container's own filter.
std::vector<std::string> missing_confinement();

} // namespace xaas
