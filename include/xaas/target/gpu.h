// GPU architectures, as LLVM names them: "sm_90a", "gfx90a".
//
// Sources: LLVM's NVPTX back end and its AMDGPU target parser; for the suffixes of NVIDIA's names CUDA C++
// Programming Guide, "Compute Capabilities", "Feature Set Compiler Targets"; for the GPUs that machine code
// runs on "Binary Compatibility" there; for families PTX ISA, ".target", table "Architecture Families"; for
// Tegra's GPUs the column "Jetson" of "CUDA GPU Compute Capability" and its legacy page.
#pragma once

#include <xaas/base/result.h>

#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace xaas::target {

struct GpuArch {
  enum class Vendor { nvidia, amd };
  // Which features code may use, if LLVM has several architectures for one GPU (NVIDIA only).
  enum class Features {
    common,   // "sm_100": those that later GPUs also have
    family,   // "sm_100f": also those of this GPU's family
    specific, // "sm_100a": also those of this GPU only
  };
  Vendor vendor = Vendor::nvidia;
  unsigned major = 0, minor = 0; // sm_90 is 9.0: the compute capability; gfx90a is 9.0
  unsigned stepping = 0;         // gfx90a: 10
  Features features = Features::common;
  // Within one vendor, orders by the GPU's number, then by how specific the features are. (By name, sm_90
  // would come after sm_100, and sm_100f after sm_100a.) It does not say which code runs where; see the
  // functions below.
  auto operator<=>(const GpuArch&) const = default;
};

// A GPU of a machine.
struct Gpu {
  GpuArch::Vendor vendor = GpuArch::Vendor::nvidia;
  std::optional<GpuArch> arch; // absent: nothing reports it, because the driver does not work
};

// "sm_90a", "gfx90a". The inverse of parse_gpu_arch.
std::string to_string(const GpuArch& arch);

// Parses any well-formed name, such as a driver reports, including those of GPUs that LLVM does not know yet.
// Anything else is a usage error, including AMD's generic architectures ("gfx9-generic") and settings
// ("gfx90a:xnack+"), which do not name a single GPU.
Result<GpuArch> parse_gpu_arch(const std::string& name);

// An architecture for which code can be generated. One that LLVM lacks, or that is older than sm_50, is a
// usage error that lists the supported ones.
Result<GpuArch> gpu_arch(const std::string& name);

// Every architecture that gpu_arch() accepts: NVIDIA's by number, each followed by its family and specific
// variants, then AMD's in LLVM's order.
std::vector<GpuArch> gpu_archs();

// Whether machine code for `code` runs on the GPU `device`: the major versions are equal, and the minor
// version of `device` is not less. Family code (`f`) runs only within its family; specific code (`a`), and
// code for or on Tegra's GPUs, only on exactly that GPU. The features of `device` do not matter. AMD's
// architectures must be equal.
bool machine_code_runs(const GpuArch& code, const GpuArch& device);

// Whether PTX, and therefore IR, for `code` can become machine code for `device`: the GPU is not older.
// Family code works only within its family, specific code only for exactly that GPU. AMD's architectures must
// be equal.
bool device_code_serves(const GpuArch& code, const GpuArch& device);

} // namespace xaas::target
