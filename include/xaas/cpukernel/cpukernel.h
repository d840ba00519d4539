// CUDA kernels for a CPU: a module for NVPTX, as Clang's front end emits it, becomes one for the host.
//
// A kernel describes one thread, and the threads of a block meet at barriers. On a CPU, one core runs one
// block: the code between two barriers becomes a loop over the block's threads, which LLVM vectorizes.
//
//     __global__ void reverse(int* a) {              for each thread t: s[t] = a[t];
//       __shared__ int s[64];
//       s[threadIdx.x] = a[threadIdx.x];     =>      for each thread t: a[t] = s[63 - t];
//       __syncthreads();
//       a[threadIdx.x] = s[63 - threadIdx.x];
//     }
//
// The steps are files of their own, each with an example: link.cpp (relocatable device code), normalise.cpp
// (data layout, address spaces), assembly.cpp (PTX in inline assembly), library.cpp (what replaces libdevice
// and intrinsics), nodes.cpp (where threads meet), regions.cpp (the code between), recompute.cpp (values that
// need not be stored meanwhile), then, for kernels whose threads all come to the same nodes, trip_counts.cpp,
// ranges.cpp and interchange.cpp (loops over threads that LLVM vectorizes well), and rows.cpp and kernel.cpp
// (these loops, and the function that runs a block). Kernels that cannot be cut run with a stack for each
// thread (fibers.cpp).
#pragma once

#include <xaas/base/result.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace xaas::cpukernel {

// True if the libraries are there for CPUs of the architecture ("x86_64", "aarch64").
bool runs_on(const std::string& arch);

enum class Form {
  loops,  // all threads of a block take the same way between barriers
  masked, // each thread has its own
  refused,
  fibers // each thread has a stack of its own
};

// For reports: "loops", "masked", "fibers", "refused".
std::string name(Form form);

struct Kernel {
  std::string name; // mangled
  Form form = Form::refused;
  std::string reason;      // why it is not in a simpler form
  std::string source = {}; // of linked modules (link.h): the one that defines it
};

struct Options {
  bool masked = false;      // also where all threads agree; the result is the same, and slower
  bool fibers = false;      // also where another form would do; the result is the same, and slower still
  bool vector_masks = true; // the CPU masks vectors of any element (AVX-512, SVE)
  // Kernels check their accesses and barriers (library/checks.h). All are masked; those that only fibers
  // could run, or whose threads wait for each other in a loop, are refused.
  bool checked = false;
};

// An option of LLVM's with which modules of make_cpu_module() must be compiled. The loop vectorizer joins
// accesses to the members of structures, and moves them for that. In a loop whose accesses are declared
// parallel, it does not ask whether one thread relies on their order.
constexpr const char* llvm_option = "enable-interleaved-mem-accesses=false";

// Changes a module for NVPTX, with functions of libdevice declared only, into one for the host's architecture
// ("x86_64", "aarch64"). The module then defines each kernel that can be made, a table of all of them, and a
// constructor that hands the table to the run-time library; `image` is the name under which the host's part
// of the program knows it. All else is internal. Returns the kernels by name. Launching a refused one is an
// error of the run-time library. Functions have no target attributes.
//
// Errors: integrity if the module is not for NVPTX; failed where types have another layout on the host;
// unsatisfied unless runs_on() the architecture.
Result<std::vector<Kernel>> make_cpu_module(llvm::Module& module, const std::string& arch,
                                            const std::string& image, const Options& options = {});

// What the host's part of a program has in place of a device image, for a module that was made with `image`.
std::string image_text(const std::string& image);

// The run-time library of a program that calls `functions` of CUDA's, as bitcode for `arch`. `release`: of
// CUDA, as 12040 for 12.4; `architecture`: of the IR that the kernels come from, as 800 for sm_80. Functions
// that the library lacks say so when they are called. `checked`: for kernels with checks. Unsatisfied unless
// runs_on() the architecture.
Result<std::string> runtime_library(const std::string& arch, unsigned release, unsigned architecture,
                                    const std::set<std::string>& functions, bool checked = false);

} // namespace xaas::cpukernel
