// NVIDIA's assembler: PTX in, machine code (a cubin) out.
//
// `ptxas` comes with CUDA toolkits; we may not distribute it. On machines without it, PTX can be deployed
// instead, and the driver assembles it.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/device/drivers.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace xaas::device {

// Where to look for ptxas, in this order. Relative paths are skipped, except `given`.
struct AssemblerPlaces {
  fs::path given;                 // the program itself; if not empty, no other place counts
  std::vector<fs::path> path;     // directories with programs
  std::vector<fs::path> toolkits; // directories of toolkits, with bin/ptxas
  fs::path local = "/usr/local";  // has cuda/bin/ptxas, then cuda-*/bin/ptxas, the newest toolkit first
};

// `given`, $PATH, $CUDA_HOME and $CUDA_PATH, /usr/local.
AssemblerPlaces places_of_environment(const fs::path& given = {});

struct Assembler {
  fs::path program;
  CudaRelease release; // 13.0
  std::string version; // "13.0.88"
};

// The first one that exists and reports its version. If `given` exists but does not, that is missing_tool; if
// it does not exist, not_found. If there is none anywhere: missing_tool.
Result<Assembler> find_assembler(const AssemblerPlaces& places);

struct AssembleOptions {
  unsigned opt_level = 3;          // 0 to 3
  bool debug = false;              // add debug information; then nothing is optimized
  unsigned max_registers = 0;      // per thread; 0: no limit
  bool relocatable = false;        // for linking with other code (`-c`), not for running
  std::chrono::seconds time{3600}; // of the CPU; four times as much by the clock
  uint64_t memory = 0;             // bytes; 0: this process's limit
};

// Assembles `ptx` for an architecture ("sm_90a"). The result is a pure function of both, the options and the
// assembler's version. The assembler runs as a child with an empty environment and no open files, in a
// directory of its own, with limits on time, memory and size. Errors name the architecture and have the first
// lines of the assembler's output as `output`:
// - usage: not the name of an NVIDIA architecture, or an unknown level;
// - unsatisfied: this assembler does not know the architecture or the version of PTX. PTX may be used
//   instead;
// - failed: it refuses the PTX, crashes, or exceeds a limit;
// - missing_tool: it cannot be started.
Result<std::string> assemble(const Assembler& assembler, const std::string& ptx, const std::string& arch,
                             const AssembleOptions& options = {});

} // namespace xaas::device
