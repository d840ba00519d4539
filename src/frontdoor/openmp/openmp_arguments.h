// Clang's options for OpenMP target regions on AMD's GPUs.
//
// For NVIDIA's GPUs, Clang's driver links the device's part of OpenMP's run-time library into every unit. For
// AMD's, it leaves that library and AMD's device libraries to the link of device code, which we do.
#pragma once

#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// True if a command line names GPUs for target regions.
bool names_gpus_for_openmp(const std::vector<std::string>& arguments);

// Options to append to such a command line: the path of AMD's device libraries, and their ABI.
std::vector<std::string> openmp_options(const session::Session& session,
                                        const std::vector<std::string>& arguments);

// Adds the libraries that target regions call to a cc1 command for an AMD GPU: AMD's own, and LLVM's
// libompdevice.a or the file that --libomptarget-amdgpu-bc-path of `arguments` names (none with -nogpulib).
// Returns other commands unchanged. missing_tool: a library does not exist.
Result<std::vector<std::string>> with_openmp_libraries(const session::Session& session,
                                                       const std::vector<std::string>& arguments,
                                                       std::vector<std::string> command);

} // namespace xaas::frontdoor
