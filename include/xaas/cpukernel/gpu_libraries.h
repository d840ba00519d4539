// Libraries of CUDA's that need a GPU, and stand-ins for their functions, with which a program that is linked
// with them starts and runs on a CPU until it needs a result of theirs.
#pragma once

#include <xaas/base/result.h>

#include <set>
#include <string>
#include <string_view>

namespace xaas::cpukernel {

struct GpuLibrary {
  std::string_view file; // the names of its files begin with this: "libcufft"
  std::string_view name; // "cuFFT"
  // The value of its status type by which its functions say that they cannot work here, and its name. Of
  // releases that lack the function `since`, if there is one, `before`.
  std::string_view status_name;
  int status;
  std::string_view since = {};
  int before = 0;
};

// The library that a file in a link ("libcufft_static.a", "libcublas.so.13") belongs to; null if it is none
// of these.
const GpuLibrary* find_gpu_library(std::string_view file);

// What the caller of a stand-in gets.
enum class Returned {
  status, // of the library; also where the function returns nothing, because the caller then looks at nothing
  text,   // a pointer to a text
  zero,   // an integer or a pointer that is 0
  zeros,  // a pointer to a structure of zeros
  real    // 0 as a floating-point number, real or complex
};
Returned returned_by(std::string_view function);

// Bitcode for `arch` that defines `functions`. Each prints, once, that this function of the library needs a
// GPU, and returns the library's status, or what returned_by() says. `defined`: all functions of the library.
// Unsatisfied unless runs_on() the architecture.
Result<std::string> stand_ins(const std::string& arch, const GpuLibrary& library,
                              const std::set<std::string>& functions, const std::set<std::string>& defined);

} // namespace xaas::cpukernel
