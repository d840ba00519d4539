// What Clang is told of HIP sources beside the project's own words.
#pragma once

#include <xaas/session/session.h>
#include <xaas/target/gpu.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

// The architectures of the session that are of a vendor: a source takes those that it can be compiled for.
std::vector<std::string> gpus_of(const session::Session& session, target::GpuArch::Vendor vendor);

// Of a processor, without settings: `wave64` was asked for where there is a choice.
unsigned wavefront_size(const std::string& arch, bool wave64);

// The newest version of the code object ABI that the device libraries are made for. Clang's default may be
// newer.
std::string code_object_version(const session::Rocm& rocm);

// True if a command line has a source in HIP.
bool is_hip(const std::vector<std::string>& arguments);

// Options for a command line with a source in HIP, to come after its own: where HIP and its device libraries
// are, the architectures of the session, and a name for the source's own device variables that is of the
// project alone.
std::vector<std::string> hip_options(const session::Session& session,
                                     const std::vector<std::string>& arguments);

// A cc1 command for one of AMD's GPUs, also linked with hip.bc where the device libraries have it: HIP's
// headers before version 6 call what is in it (__syncthreads does), and Clang itself no longer links it.
std::vector<std::string> with_hip_library(const session::Session& session, std::vector<std::string> command);

// Why a source in HIP cannot be compiled here, where that is not for Clang to say: there are no device
// libraries.
std::optional<Error> hip_obstacle(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
