// The jobs that Clang's driver makes of one source with device code.
//
// For CUDA, the driver compiles the source for each GPU, assembles and bundles the results, and passes the
// bundle to the compilation for the host. For OpenMP, it first compiles for the host up to IR, which the
// compilations for devices read, and then passes the host's IR to the back end together with the bundle.
// Source: clang/docs/OffloadingDesign.rst.
#pragma once

#include "device/units.h"

#include <xaas/ir/device_image.h>

#include <clang/Driver/Compilation.h>
#include <clang/Driver/Job.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::frontdoor {

struct OffloadJobs {
  std::vector<clang::driver::Command*> parts; // the jobs whose results `host` needs, in order
  clang::driver::Command* host = nullptr;     // the last job, which makes the source's object
};

// Groups the jobs by their last job. A job is a part of at most one other.
std::map<const clang::driver::Command*, OffloadJobs> offload_jobs(clang::driver::Compilation& compilation);

// The runtime whose device code has a place in the host's module, if there is one.
ir::DeviceRuntime runtime_of(const OffloadJobs& jobs);

// How the program gets its device code, as in ir::Unit::offload.
std::string offload_of(const OffloadJobs& jobs);

// True if the last job makes an object, not assembly or IR.
bool makes_object(const OffloadJobs& jobs);

// The command (without "-cc1") that compiles the source for the host. Its IR has `placeholder` in the place
// of device code, and no device code if that is linked. Empty if the jobs make no object.
std::vector<std::string> host_command(const OffloadJobs& jobs, const std::string& placeholder);

// The units of the source for devices, one for every part that compiles for one. `host_module`: the host's
// IR, which OpenMP's parts read.
DeviceUnits capture_devices(const session::Session& session, const WrittenMachine& written,
                            const OffloadJobs& jobs, const std::string& host_module);

// The arguments for the host's linker in a driver job that also links device code.
std::vector<std::string> linker_arguments(const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
