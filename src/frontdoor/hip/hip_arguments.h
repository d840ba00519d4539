// Clang's options for HIP sources besides the project's own.
#pragma once

#include <xaas/session/session.h>
#include <xaas/target/gpu.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

// The session's architectures of one vendor, for sources that can be compiled for it.
std::vector<std::string> gpus_of(const session::Session& session, target::GpuArch::Vendor vendor);

// The wavefront size of a processor, without settings. `wave64`: the build asked for 64 where there is a
// choice.
unsigned wavefront_size(const std::string& arch, bool wave64);

// The newest version of the code object ABI that the device libraries support. Clang's default may be newer.
std::string code_object_version(const session::Rocm& rocm);

// True if a command line has a HIP source.
bool is_hip(const std::vector<std::string>& arguments);

// Options to append to a command line with a HIP source: the paths of HIP and its device libraries, the
// session's architectures, and a suffix for the source's own device variables that depends on the project
// alone.
std::vector<std::string> hip_options(const session::Session& session,
                                     const std::vector<std::string>& arguments);

// Adds hip.bc, if the device libraries have it, to a cc1 command for an AMD GPU: HIP's headers before version
// 6 call its functions (__syncthreads does), and Clang itself no longer links it.
std::vector<std::string> with_hip_library(const session::Session& session, std::vector<std::string> command);

// The error if a HIP source cannot be compiled here and Clang would not explain why: there are no device
// libraries.
std::optional<Error> hip_obstacle(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
