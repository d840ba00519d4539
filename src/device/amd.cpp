#include "amd.h"

#include <xaas/device/code_object.h>
#include <xaas/ir/device_image.h>
#include <xaas/ir/options.h>
#include <xaas/link/device.h>
#include <xaas/target/gpu.h>

#include <algorithm>

namespace xaas::device {

namespace {

std::string without_settings(const std::string& arch) {
  return arch.substr(0, arch.find(':'));
}

// The version of the ABI that the device libraries are made for and the run-time library must know; "" for
// LLVM's own version.
std::string code_object_version(const image::Bundle& bundle, const ir::Unit& unit) {
  const auto options = bundle.options.find(unit.options);
  if (options == bundle.options.end())
    return {};
  const auto version = options->second.gpu.find("CodeObjectVersion");
  return version == options->second.gpu.end() ? "" : std::to_string(version->second);
}

Result<void> plan_unit(const image::Bundle& bundle, const Digest& host, const target::GpuArch& gpu,
                       DevicePlan& plan) {
  const ir::Unit& unit = bundle.units.at(host);
  XAAS_TRY(const std::vector<target::GpuArch> code, code_for(unit.device, target::GpuArch::Vendor::amd));
  XAAS_TRY(const target::GpuArch best, best_device_code(code, gpu).in(unit.source));
  XAAS_TRY(const target::GpuArch arch, best_target(best, gpu, target::gpu_archs()).in(unit.source));
  const DeviceJob job{unit.device.at(to_string(best)), to_string(arch), {}, false, unit.offload};
  plan.add(host, to_string(gpu), job);
  image::GpuCode made;
  made.gpu = to_string(gpu);
  made.arch = job.arch;
  made.code_object = code_object_version(bundle, bundle.units.at(job.unit));
  if (made.code_object.empty())
    return make_error(ErrorKind::integrity,
                      "unit " + unit.source + " for " + job.arch + " names no version of its code object");
  plan.code.insert(std::move(made));
  return {};
}

} // namespace

bool is_for_amd(const ir::Unit& host) {
  return !host.device.empty() && ir::device_runtime(host.device.begin()->first) == ir::DeviceRuntime::hip;
}

bool is_for_amd(const DeviceJob& job) {
  return ir::device_runtime(job.arch) == ir::DeviceRuntime::hip;
}

Result<void> plan_for_amd(const image::Bundle& bundle, const std::set<Digest>& host_units,
                          const std::vector<system::Gpu>& gpus, DevicePlan& plan) {
  std::set<std::string> archs;
  for (const system::Gpu& gpu : gpus) {
    if (gpu.vendor != "amd")
      continue;
    if (gpu.arch.empty())
      return no_gpu_here("AMD", "the architecture of this one is unknown: " + gpu.model);
    archs.insert(without_settings(gpu.arch));
  }
  for (const std::string& name : archs) {
    XAAS_TRY(const target::GpuArch gpu, target::parse_gpu_arch(name));
    plan.gpus.push_back(name);
    for (const Digest& host : host_units)
      XAAS_CHECK(plan_unit(bundle, host, gpu, plan));
  }
  return {};
}

Result<std::string> make_code_object(const std::string& object, const std::string& arch) {
  XAAS_TRY(std::string linked, link::link_code_object({object}).in(arch));
  return linked;
}

} // namespace xaas::device
