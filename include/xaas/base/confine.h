// Confinement of a process that parses untrusted input: a worker forked for that purpose.
//
// Sources: landlock(7), seccomp(2), getrlimit(2).
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xaas {

// What the process may still do besides computing. It can never start programs or other processes, or open
// sockets. Without Landlock, a process that uses files can reach any path.
struct Confinement {
  std::vector<fs::path> readable; // files
  std::vector<fs::path> writable; // directories in which files may be read, created and removed
  uint64_t max_memory = 0;        // bytes of data beyond what it already has; 0: no limit
  uint64_t max_file = 0;          // bytes of a file; 0: max_memory
  bool further = false;           // it will call confine() again, with less

  bool uses_files() const { return !readable.empty() || !writable.empty(); }
};

// Makes confine() cheaper in processes that this one forks. Call it from a process with one thread. False if
// they must do all of it themselves.
bool prepare_to_confine(const Confinement& confinement);

// Confines this process permanently, and once more after `further`; call it before reading any input. Without
// `readable` and `writable` no file can be opened any more, but open files stay open. Protections in
// missing_confinement() are skipped; if another one fails, that is an error.
Result<void> confine(const Confinement& confinement);

// Which of "Landlock" and "seccomp" this system lacks, because of an old kernel, an emulator, or a
// container's own filter.
std::vector<std::string> missing_confinement();

} // namespace xaas
