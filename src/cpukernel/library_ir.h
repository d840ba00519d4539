// The libraries (library/*.c) as text IR, compiled with the project for each architecture.
#pragma once

#include <string>
#include <string_view>

namespace xaas::cpukernel {

struct LibraryIr {
  std::string_view math, thread;    // of device code
  std::string_view runtime, fibers; // of programs
  std::string_view checks;          // and, where kernels have checks
};

// Null for an architecture whose kernels have no libraries.
const LibraryIr* library_ir(const std::string& arch);

} // namespace xaas::cpukernel
