// Problem: an image has device code for several architectures, none of which is a CPU's, and host code that
// registers an image of device code with CUDA's run-time library at start.
//
// Approach: of each source, the IR of the lowest architecture becomes an object with its kernels for the CPU
// (cpukernel/cpukernel.h). The lowest uses the fewest features of a GPU. In place of the device image, the
// host code gets a text that names the object's kernels. Every link that reads such host code, also through
// archives, reads the objects of all their kernels; and in place of CUDA's run-time library ours.
#include "cpu.h"
#include "amd.h"
#include "find_links.h"
#include "planning.h"

#include <xaas/device/code_object.h>
#include <xaas/device/fat_binary.h>
#include <xaas/ir/options.h>
#include <xaas/target/gpu.h>

#include <algorithm>

namespace xaas::device {

namespace {

// Libraries of CUDA's that a program may be linked with, besides the run-time library. They need a driver.
bool needs_driver(std::string_view name) {
  for (const char* library : {"libcuda.so", "libcublas", "libcublasLt", "libcufft", "libcurand",
                              "libcusparse", "libcusolver", "libcudnn", "libnvrtc", "libnccl", "libnpp"})
    if (name.starts_with(library))
      return true;
  return false;
}

// The code that a host unit has for NVIDIA's lowest architecture.
Result<std::pair<target::GpuArch, Digest>> lowest(const ir::Unit& host) {
  XAAS_TRY(const std::vector<target::GpuArch> archs, code_for(host.device, target::GpuArch::Vendor::nvidia));
  const target::GpuArch arch = *std::min_element(archs.begin(), archs.end());
  return std::pair(arch, host.device.at(to_string(arch)));
}

// The device code of a host unit. Sources with equal device code have variables of their own, so the host
// unit is part of it.
ir::Unit kernels_of(const DeviceInputs& inputs, const Digest& host) {
  ir::Unit unit = inputs.bundle.units.at(inputs.plan.kernels.at(host));
  unit.device = {{ir::host_device, host}};
  return unit;
}

} // namespace

bool is_cuda_runtime(const std::string& name) {
  return name == "libcudart_static.a" || name.starts_with("libcudart.so");
}

Result<void> plan_for_cpu(const image::Bundle& bundle, const std::set<Digest>& host_units,
                          const image::Usage& usage, DevicePlan& plan) {
  if (!cpukernel::runs_on(bundle.arch))
    return make_error(ErrorKind::unsatisfied,
                      "kernels run on CPUs of x86_64 only, and the image is for " + bundle.arch,
                      "--gpu none deploys without code for GPUs");
  plan.on_cpu = true;
  plan.gpus = {"cpu"};
  for (const Digest& host : host_units) {
    const ir::Unit& unit = bundle.units.at(host);
    if (!unit.offload.empty())
      return make_error(ErrorKind::unsatisfied,
                        unit.source + ": device code that is linked across sources has no form for the CPU",
                        "--gpu none deploys without it");
    XAAS_TRY(const auto code, lowest(unit));
    plan.kernels[host] = code.second;
    plan.architecture = std::max(plan.architecture, code.first.major * 100 + code.first.minor * 10);
    const auto& options = bundle.options.at(bundle.units.at(code.second).options).gpu;
    if (const auto version = options.find(ir::cuda_version); version != options.end())
      plan.cuda_release = std::max(plan.cuda_release, static_cast<unsigned>(version->second));
  }
  for (const Digest& digest : usage.links) {
    const link::LinkRecord& record = bundle.links.at(digest);
    bool has_runtime = false;
    for (const link::LinkItem& item : record.items) {
      if (item.kind != link::LinkItem::Kind::input || item.file.kind != link::FileRef::Kind::kit)
        continue;
      if (needs_driver(item.file.name))
        return make_error(ErrorKind::unsatisfied,
                          record.name + " is linked with " + item.file.name + ", which needs a GPU",
                          "--gpu none deploys without code for GPUs");
      has_runtime |= is_cuda_runtime(item.file.name);
    }
    if (record.kind == link::OutputKind::relocatable)
      continue;
    std::vector<Digest> kernels;
    for (const Digest& unit : units_of_link(bundle, record))
      if (const auto found = plan.kernels.find(unit); found != plan.kernels.end())
        kernels.push_back(unit);
    if (has_runtime || !kernels.empty())
      plan.kernel_links[digest] = std::move(kernels);
  }
  return {};
}

Result<void> make_kernels(const DeviceInputs& inputs, DeviceCode& made) {
  for (const Digest& host : inputs.host_units) {
    if (inputs.plan.kernels.contains(host)) {
      made.images[host] = cpukernel::image_text(kernels_of(inputs, host).id().hex());
    } else {
      XAAS_TRY(made.images[host],
               is_for_amd(inputs.bundle.units.at(host)) ? code_object_bundle({}) : fat_binary({}));
    }
  }
  std::map<Digest, ir::Unit> units; // by host unit
  for (const auto& [record, hosts] : inputs.plan.kernel_links)
    for (const Digest& host : hosts)
      units[host] = kernels_of(inputs, host);
  std::map<Digest, lower::Object> objects;
  std::vector<Digest> wanted;
  const auto options_of = [&](const Digest& host) -> const ir::UnitOptions& {
    return inputs.bundle.options.at(units.at(host).options);
  };
  for (const auto& [host, unit] : units) {
    std::optional<lower::Object> known;
    if (inputs.cache)
      known = inputs.cache->find(unit, options_of(host), inputs.cpu, lower::Form::kernels);
    if (known) {
      objects[host] = *std::move(known);
      ++made.cached;
    } else {
      wanted.push_back(host);
    }
  }
  inputs.progress.start("lowering kernels for the CPU", wanted.size());
  const auto job = [&](size_t i) -> Result<lower::Job> {
    lower::Job job;
    job.unit = units.at(wanted[i]);
    XAAS_TRY(job.bitcode, inputs.contents.read(job.unit.module));
    job.options = options_of(wanted[i]);
    job.target = inputs.cpu;
    job.form = lower::Form::kernels;
    return job;
  };
  const auto done = [&](size_t i, lower::Object object) -> Result<void> {
    if (inputs.cache)
      inputs.cache->keep(units.at(wanted[i]), options_of(wanted[i]), inputs.cpu, lower::Form::kernels,
                         object);
    ++made.lowered;
    objects[wanted[i]] = std::move(object);
    return {};
  };
  XAAS_CHECK(lower::lower_all(wanted.size(), job, done, {.workers = inputs.threads}, inputs.progress));
  inputs.progress.finish();
  for (const auto& [id, object] : objects)
    for (const cpukernel::Kernel& kernel : object.kernels)
      made.kernels.push_back({units.at(id).source, kernel});
  for (const auto& [record, kernels] : inputs.plan.kernel_links)
    for (const Digest& id : std::set<Digest>(kernels.begin(), kernels.end()))
      made.objects[record].push_back(objects.at(id).bytes);
  return {};
}

Result<std::string> cuda_runtime(const DevicePlan& plan, const target::Cpu& cpu,
                                 const std::set<std::string>& functions) {
  lower::Job job;
  XAAS_TRY(job.bitcode,
           cpukernel::runtime_library(cpu.arch, plan.cuda_release, plan.architecture, functions));
  job.unit.source = "xaas-cuda-runtime";
  job.unit.module = digest_of(job.bitcode);
  job.options.text["triple"] = target::triple(cpu.arch);
  job.options.codegen["OptimizationLevel"] = 2;
  job.target = cpu;
  XAAS_TRY(lower::Object object, lower::lower(job));
  return std::move(object.bytes);
}

} // namespace xaas::device
