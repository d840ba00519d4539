// What runs where: CUDA releases, NVIDIA drivers, versions of PTX, architectures of GPUs.
//
// Machine code needs the right GPU and a driver of the toolkit's generation. PTX needs a driver that knows
// its version, and runs on every later GPU. Sources, all by NVIDIA:
// - drivers of toolkits: CUDA Toolkit 13.2 Release Notes, table 3 "CUDA Toolkit and Corresponding Driver
//   Versions" (Linux x86-64, first release of each version), table 2 and CUDA Compatibility, "Minor Version
//   Compatibility";
// - versions of PTX, the drivers that accept them, and the architectures that they know: PTX ISA 9.3,
//   "Release Notes", "PTX Release History"; PTX ISA 9.0, "PTX Module Directives: .target".
#pragma once

#include <xaas/base/result.h>
#include <xaas/target/gpu.h>

#include <array>
#include <compare>
#include <string>
#include <vector>

namespace xaas::device {

struct CudaRelease { // 12.4
  unsigned major = 0, minor = 0;
  auto operator<=>(const CudaRelease&) const = default;
};

struct PtxVersion { // 8.4
  unsigned major = 0, minor = 0;
  auto operator<=>(const PtxVersion&) const = default;
};

struct DriverVersion { // 550.54.14; a missing last part is 0
  std::array<unsigned, 3> parts = {};
  auto operator<=>(const DriverVersion&) const = default;
};

std::string to_string(const CudaRelease& release);  // "12.4"
std::string to_string(const PtxVersion& version);   // "8.4"
std::string to_string(const DriverVersion& driver); // "550.54.14", "570.26"

// The NVPTX back end's feature for a version of PTX: "ptx84".
std::string feature(const PtxVersion& version);

// "12.4" or "12.4.99". Usage error for other text.
Result<CudaRelease> parse_cuda_release(const std::string& text);
// "550.54.14", the driver's own form; or only a branch ("550"), which means the first driver of the branch.
// Usage error for other text.
Result<DriverVersion> parse_driver_version(const std::string& text);

// What a CUDA release came with. For 12.7 there are drivers, but no toolkit.
struct ReleaseFacts {
  CudaRelease release;
  DriverVersion driver; // the first driver that supports all of the release
  PtxVersion ptx;       // the newest version that its tools write and its driver accepts
};
// Oldest first, 11.0 to 13.2.
const std::vector<ReleaseFacts>& cuda_releases();

// The newest version of PTX that a driver accepts; for a driver newer than the table, the newest one in the
// table. Unsatisfied if the driver is older than that of CUDA 11.0.
Result<PtxVersion> newest_ptx(const DriverVersion& driver);

// The newest version of PTX that the assembler of a release reads.
PtxVersion newest_ptx(const CudaRelease& toolkit);

// Whether the assembler of a release makes machine code for an architecture. CUDA 13 starts at sm_75 (CUDA
// Toolkit 13.0 Release Notes, "Deprecated Architectures").
bool assembles(const CudaRelease& toolkit, const target::GpuArch& arch);

// The first version of PTX that knows an architecture. Usage error if it is not NVIDIA's or not in
// gpu_archs().
Result<PtxVersion> first_ptx(const target::GpuArch& arch);

// The newest version of PTX for an architecture that a driver accepts. Unsatisfied if the driver accepts no
// version that knows the architecture; the error has both versions and the required driver.
Result<PtxVersion> ptx_version_for(const target::GpuArch& arch, const DriverVersion& driver);

// Succeeds if `driver` can load machine code made by the assembler of `toolkit`. Each generation of toolkits
// (11.x, 12.x, 13.x) needs one driver or any later one. Otherwise an unsatisfied error with the required
// driver and, as a hint, the ways out: that driver, an older assembler, or PTX of a version that the driver
// accepts. A toolkit of another generation is a usage error.
Result<void> check_driver(const CudaRelease& toolkit, const DriverVersion& driver);

// The same for a program linked with the run-time library of a release.
Result<void> check_runtime(const CudaRelease& release, const DriverVersion& driver);

// The best of the available device code for a GPU: that of the highest architecture, and of two for the same
// architecture the more specific one. Unsatisfied, with a list, if none runs on the GPU.
Result<target::GpuArch> best_device_code(const std::vector<target::GpuArch>& code,
                                         const target::GpuArch& device);

// The architecture to generate machine code for, from IR for `ir` and for the GPU `device`: the highest of
// `targets`, which the tools know, that the GPU runs and that `ir` can be lowered for. It keeps the features
// that `ir` was compiled for, so specific IR stays specific. Unsatisfied if there is none.
Result<target::GpuArch> best_target(const target::GpuArch& ir, const target::GpuArch& device,
                                    const std::vector<target::GpuArch>& targets);

} // namespace xaas::device
