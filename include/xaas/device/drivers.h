// What runs where: CUDA releases, NVIDIA drivers, versions of PTX, architectures of GPUs.
//
// Machine code asks for the right GPU and a driver of the toolkit's generation; PTX asks for a driver that
// knows its version, and runs on every later GPU. Sources, all of NVIDIA:
// - drivers of toolkits: CUDA Toolkit 13.2 Release Notes, table 3 "CUDA Toolkit and Corresponding Driver
//   Versions" (Linux x86-64, first release of each version), table 2 and CUDA Compatibility, "Minor Version
//   Compatibility";
// - versions of PTX, drivers that take them, architectures that they know: PTX ISA 9.3, "Release
//   Notes", "PTX Release History"; PTX ISA 9.0, "PTX Module Directives: .target".
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

// "12.4" or "12.4.99". Else a usage error.
Result<CudaRelease> parse_cuda_release(const std::string& text);
// "550.54.14", as the driver says it; of a branch alone ("550"), as people say it, the driver with which the
// branch came out. Else a usage error.
Result<DriverVersion> parse_driver_version(const std::string& text);

// What a CUDA release came with. Of 12.7 there are drivers, but no toolkit.
struct ReleaseFacts {
  CudaRelease release;
  DriverVersion driver; // the first with all that the release has
  PtxVersion ptx;       // the newest that its tools write, and its driver takes
};
// Oldest first, 11.0 to 13.2.
const std::vector<ReleaseFacts>& cuda_releases();

// The newest version of PTX that a driver takes; of one newer than the table, the table's newest. A driver
// older than CUDA 11.0's is an unsatisfied error.
Result<PtxVersion> newest_ptx(const DriverVersion& driver);

// The newest version of PTX that the assembler of a release reads.
PtxVersion newest_ptx(const CudaRelease& toolkit);

// True if the assembler of a release makes machine code for an architecture. Those of CUDA 13 begin at sm_75
// (CUDA Toolkit 13.0 Release Notes, "Deprecated Architectures").
bool assembles(const CudaRelease& toolkit, const target::GpuArch& arch);

// The first version of PTX that knows an architecture. One that is not NVIDIA's, or not in gpu_archs(), is a
// usage error.
Result<PtxVersion> first_ptx(const target::GpuArch& arch);

// The version in which to write PTX for an architecture, so that a driver takes it: the newest. Unsatisfied
// where the driver takes none that knows the architecture; the error has both versions and the driver that is
// needed.
Result<PtxVersion> ptx_version_for(const target::GpuArch& arch, const DriverVersion& driver);

// Nothing if machine code that the assembler of `toolkit` made can be loaded by `driver`: each generation of
// toolkits (11.x, 12.x, 13.x) asks for one driver, and every later one does. Else an unsatisfied error with
// the driver that is needed and, as a hint, the ways out: that driver, an older assembler, or PTX of a
// version that the driver takes. A toolkit that is not of these generations is a usage error.
Result<void> check_driver(const CudaRelease& toolkit, const DriverVersion& driver);

// The same for a program that is linked with the run-time library of a release.
Result<void> check_runtime(const CudaRelease& release, const DriverVersion& driver);

// Of what device code there is, the one that serves a GPU best: of the highest architecture; of two of the
// same, the more specific one. Where none serves, an unsatisfied error that lists them.
Result<target::GpuArch> best_device_code(const std::vector<target::GpuArch>& code,
                                         const target::GpuArch& device);

// The architecture to make machine code for, of those that the tools know (`targets`), from IR for `ir` and
// for the GPU `device`: the highest that the GPU runs and that `ir` may become. It has the features that `ir`
// was compiled for, no others: a specific IR stays so. Unsatisfied where there is none.
Result<target::GpuArch> best_target(const target::GpuArch& ir, const target::GpuArch& device,
                                    const std::vector<target::GpuArch>& targets);

} // namespace xaas::device
