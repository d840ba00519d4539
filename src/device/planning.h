// What the parts of a plan share.
#pragma once

#include <xaas/device/plan.h>
#include <xaas/target/gpu.h>

namespace xaas::device {

// The jobs of a plan, without its links. `host_units` have device code; `files` are made again, by path.
// Errors as in plan_device_code.
Result<DevicePlan> plan_jobs(const image::Bundle& bundle, const std::set<Digest>& host_units,
                             const std::vector<system::Gpu>& gpus, bool no_gpu,
                             std::optional<Assembler> assembler,
                             const std::map<std::string, link::DeviceFile>& files = {});

// The error of a configuration with code for `vendors` ("NVIDIA") on a system that it does not fit.
Error no_gpu_here(const std::string& vendors, const std::string& why);

// A vendor's architectures among devices that there is code for.
Result<std::vector<target::GpuArch>> code_for(const std::map<std::string, Digest>& devices,
                                              target::GpuArch::Vendor vendor);

void add_once(std::vector<DeviceJob>& jobs, const DeviceJob& job);

} // namespace xaas::device
