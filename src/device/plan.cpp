#include "amd.h"
#include "cpu.h"
#include "find_links.h"
#include "nvidia.h"
#include "planning.h"

#include <xaas/target/gpu.h>

#include <algorithm>

namespace xaas::device {

namespace {

// Host units with device code for architectures whose names begin with `prefix`.
std::set<Digest> units_for(const image::Bundle& bundle, const std::set<Digest>& host_units,
                           std::string_view prefix) {
  std::set<Digest> units;
  for (const Digest& host : host_units)
    for (const auto& [arch, device] : bundle.units.at(host).device)
      if (arch.starts_with(prefix))
        units.insert(host);
  return units;
}

// Installed files that are made again.
std::map<std::string, link::DeviceFile> remade_files(const image::BundleConfiguration& configuration) {
  std::map<std::string, link::DeviceFile> files;
  for (const link::InstalledFile& file : configuration.installed)
    if (file.device && !file.device->units.empty())
      files[file.path] = *file.device;
  return files;
}

std::set<Digest> units_with_device_code(const image::Bundle& bundle, const image::Usage& usage) {
  std::set<Digest> units;
  for (const Digest& id : usage.units)
    if (!bundle.units.at(id).device.empty())
      units.insert(id);
  return units;
}

// A machine without an assembler can still deploy PTX.
Result<std::optional<Assembler>> assembler_in(const AssemblerPlaces& places) {
  Result<Assembler> found = find_assembler(places);
  if (found)
    return std::optional(*std::move(found));
  if (!places.given.empty() || found.error().kind != ErrorKind::missing_tool)
    return std::move(found).error();
  return std::optional<Assembler>();
}

} // namespace

void DevicePlan::add(const Digest& host, const std::string& gpu, const DeviceJob& job) {
  if (job.linked()) {
    linked[gpu].emplace(host, job);
    return;
  }
  add_once(host_units[host], job);
}

void add_once(std::vector<DeviceJob>& jobs, const DeviceJob& job) {
  if (std::find(jobs.begin(), jobs.end(), job) == jobs.end())
    jobs.push_back(job);
}

std::string DevicePlan::key(const Digest& host_unit) const {
  const auto found = host_units.find(host_unit);
  if (found == host_units.end())
    return {};
  if (const auto device = kernels.find(host_unit); device != kernels.end())
    return "cpu " + device->second.hex();
  std::string key = assembler ? "ptxas " + assembler->version : "ptx";
  for (const DeviceJob& job : found->second)
    key += " " + job.unit.hex() + " " + job.arch + (is_for_amd(job) ? "" : " " + to_string(job.ptx)) +
           (job.assembled ? " assembled" : "");
  return key;
}

std::set<DeviceJob> DevicePlan::jobs(const std::set<Digest>& of) const {
  std::set<DeviceJob> all;
  for (const Digest& host : of)
    if (const auto found = host_units.find(host); found != host_units.end())
      all.insert(found->second.begin(), found->second.end());
  for (const auto& [path, file] : files)
    all.insert(file.jobs.begin(), file.jobs.end());
  return all;
}

Result<std::vector<target::GpuArch>> code_for(const std::map<std::string, Digest>& devices,
                                              target::GpuArch::Vendor vendor) {
  std::vector<target::GpuArch> archs;
  for (const auto& [name, device] : devices) {
    if (name == ir::host_device)
      continue;
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(name));
    if (arch.vendor == vendor)
      archs.push_back(arch);
  }
  return archs;
}

Error no_gpu_here(const std::string& vendors, const std::string& why) {
  return make_error(
      ErrorKind::unsatisfied, "this configuration has code for " + vendors + " GPUs, and " + why,
      "--gpu ARCH deploys for a GPU that is not here (sm_90, gfx90a), --gpu cpu for running CUDA kernels on "
      "the CPU, --gpu none without device code; --gpu auto,cpu and --gpu auto,none do so for machines "
      "without a "
      "GPU only");
}

Result<DevicePlan> plan_jobs(const image::Bundle& bundle, const std::set<Digest>& host_units,
                             const std::vector<system::Gpu>& gpus, bool no_gpu,
                             std::optional<Assembler> assembler,
                             const std::map<std::string, link::DeviceFile>& files) {
  DevicePlan plan;
  for (const auto& [path, file] : files)
    plan.files[path].form = file.form;
  for (const Digest& host : host_units)
    if (bundle.units.at(host).has_device_image())
      plan.host_units[host]; // its image must be filled in, even if it stays empty
  const std::set<Digest> of_nvidia = units_for(bundle, host_units, "sm_");
  const std::set<Digest> of_amd = units_for(bundle, host_units, "gfx");
  const bool for_nvidia = !of_nvidia.empty() || !files.empty();
  if (no_gpu || (!for_nvidia && of_amd.empty()))
    return plan;
  const auto is_here = [&](const char* vendor) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](const system::Gpu& gpu) { return gpu.vendor == vendor; });
  };
  if (for_nvidia && is_here("nvidia"))
    XAAS_CHECK(plan_for_nvidia(bundle, of_nvidia, files, gpus, std::move(assembler), plan));
  if (!of_amd.empty() && is_here("amd"))
    XAAS_CHECK(plan_for_amd(bundle, of_amd, gpus, plan));
  if (plan.gpus.empty())
    return no_gpu_here(of_amd.empty() ? "NVIDIA"
                       : for_nvidia   ? "NVIDIA and AMD"
                                      : "AMD",
                       gpus.empty() ? "this system has no GPU" : "this system has none of these");
  std::sort(plan.gpus.begin(), plan.gpus.end());
  return plan;
}

Result<DevicePlan> plan_device_code(const image::Bundle& bundle,
                                    const image::BundleConfiguration& configuration,
                                    const image::Usage& usage, const PlanOptions& options) {
  const std::set<Digest> units = units_with_device_code(bundle, usage);
  const std::map<std::string, link::DeviceFile> files = remade_files(configuration);
  const auto with_links = [&](DevicePlan plan) {
    plan.links = device_links(bundle, usage);
    plan.files_without_device_code = files_without_device_code(bundle, configuration);
    return plan;
  };
  if (std::any_of(options.gpus.begin(), options.gpus.end(), system::is_cpu)) {
    XAAS_TRY(DevicePlan plan, plan_jobs(bundle, units, {}, true, std::nullopt, files));
    XAAS_CHECK(
        plan_for_cpu(bundle, configuration, units_for(bundle, units, "sm_"), usage, options.stand_ins, plan));
    plan.checks_kernels = options.check_kernels;
    return with_links(std::move(plan));
  }
  const bool for_nvidia = !units_for(bundle, units, "sm_").empty() || !files.empty();
  std::optional<Assembler> assembler;
  if (for_nvidia && !options.no_gpu && options.assembler) {
    XAAS_TRY(assembler, assembler_in(*options.assembler));
  }
  XAAS_TRY(DevicePlan plan,
           plan_jobs(bundle, units, options.gpus, options.no_gpu, std::move(assembler), files));
  return with_links(std::move(plan));
}

} // namespace xaas::device
