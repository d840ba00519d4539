// CUDA kernels that run on the CPU.
#pragma once

#include <xaas/device/make.h>

namespace xaas::device {

// Plans them for the host units among `host_units` that have code for NVIDIA's GPUs. Unsatisfied: device code
// that is linked across units, or a library of CUDA's that needs a driver.
Result<void> plan_for_cpu(const image::Bundle& bundle, const std::set<Digest>& host_units,
                          const image::Usage& usage, DevicePlan& plan);

// Adds the kernels' objects, and what host units have in place of their device images, to `made`.
Result<void> make_kernels(const DeviceInputs& inputs, DeviceCode& made);

} // namespace xaas::device
