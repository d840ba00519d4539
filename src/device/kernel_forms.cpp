#include <xaas/base/digest.h>
#include <xaas/device/kernel_forms.h>
#include <xaas/lower/device_link.h>

#include <algorithm>

namespace xaas::device {

KernelObject linked_kernels(const image::Bundle& bundle, const DevicePlan& plan, const DeviceLink& part) {
  KernelObject object;
  std::vector<ir::UnitOptions> options;
  Hasher contents; // everything that it is made of (lower/object_cache.cpp)
  for (const Digest& host : part.host_units) {
    const auto device = plan.kernels.find(host);
    if (device == plan.kernels.end() || part.offload != "cuda" ||
        std::count(object.linked.begin(), object.linked.end(), device->second) > 0)
      continue;
    const ir::Unit& unit = bundle.units.at(device->second);
    object.linked.push_back(device->second);
    options.push_back(bundle.options.at(unit.options));
    contents.update_part(unit.id().to_string());
    contents.update_part(options.back().digest().to_string());
  }
  if (object.linked.empty())
    return object;
  object.options = lower::link_options(options);
  object.unit.source = bundle.units.at(object.linked.front()).source;
  if (object.linked.size() > 1)
    object.unit.source += " and " + std::to_string(object.linked.size() - 1) + " more";
  object.unit.module = contents.finish();
  object.unit.options = object.options.digest();
  return object;
}

std::map<Digest, KernelObject> kernel_objects(const image::Bundle& bundle, const DevicePlan& plan) {
  std::map<Digest, KernelObject> objects;
  for (const auto& [record, hosts] : plan.kernel_links)
    for (const Digest& host : hosts) {
      const ir::Unit& unit = bundle.units.at(plan.kernels.at(host));
      objects.emplace(unit.id(), KernelObject{unit, bundle.options.at(unit.options)});
    }
  for (const auto& [record, parts] : plan.links)
    for (const DeviceLink& part : parts)
      if (KernelObject object = linked_kernels(bundle, plan, part); !object.linked.empty())
        objects.emplace(object.unit.id(), std::move(object));
  return objects;
}

std::vector<Digest> units_of(const KernelObject& object) {
  return object.linked.empty() ? std::vector{object.unit.id()} : object.linked;
}

Result<lower::Job> kernel_job(const KernelObject& object, const image::Bundle& bundle,
                              const image::Contents& contents, const target::Cpu& cpu, lower::Form form) {
  lower::Job job;
  job.unit = object.unit;
  job.options = object.options;
  job.target = cpu;
  job.form = form;
  for (const Digest& device : object.linked) {
    const ir::Unit& unit = bundle.units.at(device);
    XAAS_TRY(std::string bitcode, contents.read(unit.module));
    job.linked.push_back({unit.source, std::move(bitcode)});
  }
  if (object.linked.empty()) {
    XAAS_TRY(job.bitcode, contents.read(object.unit.module));
  }
  return job;
}

Result<std::map<Digest, std::vector<cpukernel::Kernel>>>
kernel_forms(const FormInputs& inputs, const std::map<Digest, KernelObject>& objects) {
  const lower::Form form = inputs.form;
  std::map<Digest, std::vector<cpukernel::Kernel>> kernels;
  const auto take = [&](const Digest& id, lower::Object object) {
    for (cpukernel::Kernel& kernel : object.kernels)
      if (kernel.source.empty())
        kernel.source = objects.at(id).unit.source;
    kernels[id] = std::move(object.kernels);
  };
  std::vector<Digest> unknown;
  std::set<Digest> modules;
  for (const auto& [id, object] : objects) {
    std::optional<lower::Object> known;
    if (inputs.cache)
      known = inputs.cache->find(object.unit, object.options, inputs.cpu, form);
    if (known) {
      take(id, *std::move(known));
      continue;
    }
    unknown.push_back(id);
    for (const Digest& unit : units_of(object))
      modules.insert(image::stored_module(inputs.bundle, unit));
  }
  if (unknown.empty())
    return kernels;
  XAAS_CHECK(inputs.fetch(modules));
  inputs.progress.start("reading kernels", unknown.size());
  const auto job = [&](size_t i) {
    return kernel_job(objects.at(unknown[i]), inputs.bundle, inputs.contents, inputs.cpu, form);
  };
  const auto done = [&](size_t i, lower::Object object) -> Result<void> {
    const KernelObject& of = objects.at(unknown[i]);
    if (inputs.cache)
      inputs.cache->keep(of.unit, of.options, inputs.cpu, form, object);
    take(unknown[i], std::move(object));
    return {};
  };
  XAAS_CHECK(lower::lower_all(unknown.size(), job, done, {.workers = inputs.threads}, inputs.progress));
  inputs.progress.finish();
  return kernels;
}

} // namespace xaas::device
