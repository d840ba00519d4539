// Kernels on the CPU in reports.
#pragma once

#include <xaas/deploy/kernels.h>
#include <xaas/device/make.h>
#include <xaas/target/cpu.h>

namespace xaas::deploy {

// Kernels that were made, or refused, and those of the native objects among `kit`, which have no IR.
image::CpuKernels reported_kernels(const std::vector<device::DeviceCode::SourceKernel>& kernels,
                                   const image::Bundle& bundle, const std::set<Digest>& kit);

// What finding out the forms of kernels takes.
struct KernelInputs {
  const image::ApplicationImage& source;
  const target::Cpu& cpu;
  const lower::ObjectCache* cache; // null: every module is read
  unsigned jobs;
  Progress& progress;
  bool checked = false; // with checks
};

// The kernels that carrying out a plan for the CPU would make, or refuse, and those of the native objects
// among `kit`.
Result<image::CpuKernels> planned_kernels(const KernelInputs& inputs, const std::string& configuration,
                                          const device::DevicePlan& plan, const std::set<Digest>& kit);

} // namespace xaas::deploy
