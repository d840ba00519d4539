// CUDA kernels that run on the CPU.
#pragma once

#include <xaas/device/make.h>

namespace xaas::device {

// Plans them for the host units among `host_units` that have code for NVIDIA's GPUs. OpenMP's target regions
// run on the host, as without a GPU. Unsatisfied: a library of CUDA's that needs a GPU; with `stand_ins`,
// only one that is part of a relocatable object.
Result<void> plan_for_cpu(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                          const std::set<Digest>& host_units, const image::Usage& usage, bool stand_ins,
                          DevicePlan& plan);

// Adds to `made` the kernels' objects, those that register linked kernels, and what host units have in place
// of their device images.
Result<void> make_kernels(const DeviceInputs& inputs, DeviceCode& made);

} // namespace xaas::device
