// NVIDIA's assembler: PTX in, machine code (a cubin) out.
//
// `ptxas` is a program of the machine: it comes with CUDA toolkits, and is not ours to ship. Where there is
// none, PTX can serve instead, which the driver assembles.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/device/drivers.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace xaas::device {

// Where ptxas is looked for, in this order. What is not an absolute path is passed over, except `given`.
struct AssemblerPlaces {
  fs::path given;                 // the program itself; where it is not empty, no other place counts
  std::vector<fs::path> path;     // directories of programs
  std::vector<fs::path> toolkits; // directories of toolkits, which have bin/ptxas
  fs::path local = "/usr/local";  // has cuda/bin/ptxas, then cuda-*/bin/ptxas, the newest toolkit first
};

// `given`, $PATH, $CUDA_HOME and $CUDA_PATH, /usr/local.
AssemblerPlaces places_of_environment(const fs::path& given = {});

struct Assembler {
  fs::path program;
  CudaRelease release; // 13.0
  std::string version; // "13.0.88"
};

// The first that is there and says its version. One that was given and does not is an error: not_found if it
// is not there, else missing_tool; none anywhere is missing_tool.
Result<Assembler> find_assembler(const AssemblerPlaces& places);

struct AssembleOptions {
  unsigned opt_level = 3;          // 0 to 3
  bool debug = false;              // with information for debuggers; then nothing is optimised
  unsigned max_registers = 0;      // of one thread; 0: as the code wants
  bool relocatable = false;        // to be linked with others (`-c`), not to be run
  std::chrono::seconds time{3600}; // of the CPU; four times as much by the clock
  uint64_t memory = 0;             // bytes; 0: what this process may have
};

// The machine code of `ptx` for an architecture ("sm_90a"), a pure function of both, the options and the
// assembler's version. The assembler runs as a child with an empty environment, without open files, in a
// directory of its own, and with limits of time, memory and size. Errors name the architecture and have the
// assembler's first lines as `output`:
// - usage: no name of an NVIDIA architecture, or no such level;
// - unsatisfied: this assembler does not know the architecture or the version of PTX. PTX may serve instead;
// - failed: it refuses the PTX, dies, or takes too much;
// - missing_tool: it cannot be started.
Result<std::string> assemble(const Assembler& assembler, const std::string& ptx, const std::string& arch,
                             const AssembleOptions& options = {});

} // namespace xaas::device
