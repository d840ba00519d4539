// The jobs that Clang's driver makes of one source with device code.
//
// For CUDA it compiles the source for each GPU, assembles and bundles that, and gives the bundle to the
// compilation for the host; for OpenMP it compiles for the host first, as far as IR, which the compilations
// for devices read, and then gives the host's IR to the back end with the bundle.
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
  std::vector<clang::driver::Command*> parts; // of which `host` needs the results, in their order
  clang::driver::Command* host = nullptr;     // the last: it makes the source's object
};

// By their last job. A job is among the parts of at most one other.
std::map<const clang::driver::Command*, OffloadJobs> offload_jobs(clang::driver::Compilation& compilation);

// Whose device code has a place in the host's module, if it has one.
ir::DeviceRuntime runtime_of(const OffloadJobs& jobs);

// How device code comes to the program: as ir::Unit::offload.
std::string offload_of(const OffloadJobs& jobs);

// Whether the last job makes an object; else it is assembly or IR that was asked for.
bool makes_object(const OffloadJobs& jobs);

// The command (without "-cc1") that compiles the source for the host: its IR has `placeholder` for device
// code that has a place in it, and no device code where that is linked. Empty: the jobs make no object.
std::vector<std::string> host_command(const OffloadJobs& jobs, const std::string& placeholder);

// The units of the source for devices: those of every part that compiles for one. `host_module`: the host's
// IR, which parts of OpenMP read.
DeviceUnits capture_devices(const session::Session& session, const WrittenMachine& written,
                            const OffloadJobs& jobs, const std::string& host_module);

// What a job of the driver that links device code, too, leaves for the linker of the host.
std::vector<std::string> linker_arguments(const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
