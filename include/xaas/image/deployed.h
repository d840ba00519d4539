// What a deployed image says of its needs beyond the CPU (annotation `dev.xaas.needs`), and of what it would
// rather have from the host (`dev.xaas.host`).
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>
#include <xaas/oci/image.h>

#include <string>
#include <vector>

namespace xaas::image {

namespace annotation {
inline constexpr const char* needs = "dev.xaas.needs";
inline constexpr const char* host = "dev.xaas.host";
inline constexpr const char* gpu_code = "dev.xaas.gpu.code";
} // namespace annotation

// A value that was chosen, and what it needs of GPU, MPI and libraries.
struct ChosenNeeds {
  std::string point, value;
  spec::Requirement required; // without `cpu` and `values`
};

// Those of the values of a configuration that need such things, in point order.
std::vector<ChosenNeeds> needs_of(const Bundle& bundle, const spec::Configuration& configuration);

// Compact JSON: [{"point", "value", "requires"}].
std::string to_annotation(const std::vector<ChosenNeeds>& needs);

// Of a deployed image; without the annotation none. Malformed: integrity error.
Result<std::vector<ChosenNeeds>> needs_of(const oci::Image& image);

// Something that the image brings and that may come from the host. It says nothing of any host, so that the
// image does not depend on the machine that deploys it.
struct PreferredOfHost {
  std::string what;                 // "mpi", "fftw3"
  std::string abi;                  // of an MPI ("mpich-12"); else empty
  std::vector<std::string> sonames; // that the image has; sorted. Names of files, without directories
  bool operator==(const PreferredOfHost&) const = default;
};

// Compact JSON: [{"what", "abi", "sonames"}], `abi` only of an MPI.
std::string to_annotation(const std::vector<PreferredOfHost>& preferred);

// Of a deployed image; without the annotation none. Malformed, or a name that is a path: integrity error.
Result<std::vector<PreferredOfHost>> preferred_of_host(const oci::Image& image);

// What a deployed image has for one GPU that it was deployed for.
struct GpuCode {
  std::string gpu;  // its architecture: sm_90, gfx90a
  std::string arch; // that the code is for: the same, or the last one before it that LLVM knows
  std::string
      ptx; // version of PTX, which the driver makes machine code of: 8.4. Empty: there is machine code
  std::string assembler; // version of the ptxas that made that: 13.0.88
  std::string runtime; // release of the run-time library of CUDA that the program has: 12.4; empty: not known
  std::string code_object = {}; // AMD's: version of the ABI of its code object: 5. Then there is nothing else
  bool in_file = false;         // alone in a file that programs load, so nothing else can serve in its place
  auto operator<=>(const GpuCode&) const = default;
};
std::string describe(const GpuCode& code); // "sm_90: PTX 8.4", "sm_90: machine code by ptxas 13.0.88",
                                           // "gfx90a: code object version 5"

// Compact JSON: [{"gpu", "arch", "ptx" or "assembler", "runtime", "file"}], the last two where they apply;
// AMD's: [{"gpu", "arch", "code_object"}].
std::string to_annotation(const std::vector<GpuCode>& code);

// Of a deployed image; without the annotation none. Malformed: integrity error.
Result<std::vector<GpuCode>> gpu_code_of(const oci::Image& image);

} // namespace xaas::image
