// What Clang is told of target regions of OpenMP for AMD's GPUs.
//
// For NVIDIA's its driver links the device's part of OpenMP's run-time library into every unit. For AMD's it
// leaves that, and AMD's device libraries, to the link of device code, which is ours.
#pragma once

#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Whether a command line names GPUs for target regions.
bool names_gpus_for_openmp(const std::vector<std::string>& arguments);

// Options for such a command line, to come after its own: where AMD's device libraries are, and the ABI that
// they are made for.
std::vector<std::string> openmp_options(const session::Session& session,
                                        const std::vector<std::string>& arguments);

// A cc1 command for one of AMD's GPUs, with the libraries that its regions call: LLVM's
// libompdevice.a, or what --libomptarget-amdgpu-bc-path of `arguments` names (nothing with -nogpulib), and
// AMD's. Other commands stay as they are. One that is not there: missing_tool.
Result<std::vector<std::string>> with_openmp_libraries(const session::Session& session,
                                                       const std::vector<std::string>& arguments,
                                                       std::vector<std::string> command);

} // namespace xaas::frontdoor
