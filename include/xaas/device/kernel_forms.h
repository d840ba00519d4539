// The forms that CUDA kernels have on the CPU, without making them.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/cpukernel/cpukernel.h>
#include <xaas/device/plan.h>
#include <xaas/image/bundle.h>
#include <xaas/image/contents.h>
#include <xaas/lower/object_cache.h>
#include <xaas/target/cpu.h>

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace xaas::device {

// What becomes one object with kernels: a device unit, or those that are linked.
struct KernelObject {
  ir::Unit unit; // names it
  ir::UnitOptions options;
  std::vector<Digest> linked = {}; // device units; empty: it is `unit`
};

// The device code of a link's host units, each once. `linked` is empty if none of them has code for NVIDIA's
// GPUs.
KernelObject linked_kernels(const image::Bundle& bundle, const DevicePlan& plan, const DeviceLink& part);

// Those of a plan for the CPU, by the id of `unit`. Host units with equal device code share one.
std::map<Digest, KernelObject> kernel_objects(const image::Bundle& bundle, const DevicePlan& plan);

// The units whose modules an object is made of.
std::vector<Digest> units_of(const KernelObject& object);

// Lowers an object. `contents` has its modules.
Result<lower::Job> kernel_job(const KernelObject& object, const image::Bundle& bundle,
                              const image::Contents& contents, const target::Cpu& cpu, lower::Form form);

struct FormInputs {
  const image::Bundle& bundle;
  const target::Cpu& cpu;
  const lower::ObjectCache* cache; // null: every module is read
  unsigned threads;
  const image::Contents& contents;
  // Puts modules of the image into `contents`: those that the cache does not answer for.
  std::function<Result<void>(const std::set<Digest>&)> fetch;
  Progress& progress;
  lower::Form form = lower::Form::kernel_forms; // checked_kernels: their forms with checks
};

// The kernels of objects, with their sources, by the key of `objects`. Errors are those of lowering.
Result<std::map<Digest, std::vector<cpukernel::Kernel>>>
kernel_forms(const FormInputs& inputs, const std::map<Digest, KernelObject>& objects);

} // namespace xaas::device
