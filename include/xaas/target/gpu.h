// GPU architectures, as LLVM names them: "sm_90a", "gfx90a".
//
// Sources: LLVM's NVPTX back end and its AMDGPU target parser; for the suffixes of NVIDIA's names CUDA C++
// Programming Guide, "Compute Capabilities", "Feature Set Compiler Targets"; for the GPUs that machine code
// runs on "Binary Compatibility" there; for families PTX ISA, ".target", table "Architecture Families"; for
// Tegra's GPUs the column "Jetson" of "CUDA GPU Compute Capability" and its legacy page.
#pragma once

#include <xaas/base/result.h>

#include <compare>
#include <string>
#include <vector>

namespace xaas::target {

struct GpuArch {
  enum class Vendor { nvidia, amd };
  // Whose features code may use, where LLVM has several architectures for one GPU (NVIDIA only).
  enum class Features {
    common,   // "sm_100": those that later GPUs have, too
    family,   // "sm_100f": also those of this GPU's family
    specific, // "sm_100a": also those of this GPU alone
  };
  Vendor vendor = Vendor::nvidia;
  unsigned major = 0, minor = 0; // sm_90 is 9.0: the compute capability; gfx90a is 9.0
  unsigned stepping = 0;         // gfx90a: 10
  Features features = Features::common;
  // Of one vendor's: by the GPU's number, then by how specific the features are. Not by name, by which sm_90
  // comes after sm_100 and sm_100f after sm_100a. Which code runs where the functions
  // below say.
  auto operator<=>(const GpuArch&) const = default;
};

// "sm_90a", "gfx90a". The inverse of parse_gpu_arch.
std::string to_string(const GpuArch& arch);

// What has the form of a name, for GPUs that LLVM does not know yet, too: what a driver says that there is.
// AMD's generic architectures ("gfx9-generic") and settings ("gfx90a:xnack+") are no single GPU's name and
// have another form. Else a usage error.
Result<GpuArch> parse_gpu_arch(const std::string& name);

// An architecture that code can be generated for. One that LLVM does not have, or that is older than sm_50,
// is a usage error with the list of those that can.
Result<GpuArch> gpu_arch(const std::string& name);

// Every architecture that gpu_arch() takes: NVIDIA's by number, each before its family's and its specific
// one; then AMD's in LLVM's order.
std::vector<GpuArch> gpu_archs();

// True if machine code for `code` runs on the GPU `device`: same major version and the minor one not less; a
// family's code (`f`) also only inside it; specific code (`a`), code of Tegra's GPUs and code for them, only
// where it is for exactly that GPU. The features of `device` do not matter. Of AMD's: equal.
bool machine_code_runs(const GpuArch& code, const GpuArch& device);

// True if PTX, and so IR, for `code` can be made machine code for `device`: a GPU not older; a family's also
// only inside it, specific one only for exactly that GPU. Of AMD's: equal.
bool device_code_serves(const GpuArch& code, const GpuArch& device);

} // namespace xaas::target
