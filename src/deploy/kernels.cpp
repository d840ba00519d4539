#include "kernels.h"

#include <xaas/base/file.h>
#include <xaas/device/kernel_forms.h>
#include <xaas/target/cpu.h>

#include <map>

namespace xaas::deploy {

namespace {

image::CpuKernel reported(const std::string& source, const cpukernel::Kernel& kernel) {
  return {source, kernel.name, cpukernel::name(kernel.form), kernel.reason};
}

// The kernels of native objects.
std::vector<image::CpuKernel> native_kernels(const image::Bundle& bundle, const std::set<Digest>& kit) {
  std::vector<image::CpuKernel> kernels;
  for (const Digest& digest : kit) {
    const image::KitFile& file = bundle.kit.at(digest);
    for (const std::string& kernel : file.kernels)
      kernels.push_back({file.name, kernel, image::kernel_refused, "its object has no IR: " + file.reason});
  }
  return kernels;
}

// What the kernels of a configuration are made of.
struct Wanted {
  std::string configuration;
  std::map<Digest, device::KernelObject> objects;
  std::set<Digest> kit;
};

Result<device::DevicePlan> plan_for_cpu(const image::Bundle& bundle,
                                        const image::BundleConfiguration& configuration,
                                        const image::Usage& usage) {
  return device::plan_device_code(bundle, configuration, usage, {.gpus = {system::cpu_as_gpu()}});
}

using ObjectKernels = std::map<Digest, std::vector<cpukernel::Kernel>>;

Result<ObjectKernels> read_kernels(const KernelInputs& inputs, const std::vector<Wanted>& wanted) {
  const image::Bundle& bundle = inputs.source.bundle();
  XAAS_TRY(const TemporaryDirectory work, TemporaryDirectory::create(temporary_root(), "xaas-deploy-"));
  const image::Contents contents(work.path());
  const auto keep = [&](const Digest& digest, const std::string& content) {
    return contents.keep(digest, content);
  };
  const auto fetch = [&](std::set<Digest> modules) -> Result<void> {
    for (const Wanted& each : wanted) {
      std::set<Digest> part;
      for (const auto& [id, object] : each.objects)
        for (const Digest& unit : device::units_of(object))
          if (auto module = modules.extract(image::stored_module(bundle, unit)))
            part.insert(std::move(module));
      if (!part.empty())
        XAAS_CHECK(inputs.source.fetch(part, each.configuration, keep, inputs.progress));
    }
    return {};
  };
  std::map<Digest, device::KernelObject> objects;
  for (const Wanted& each : wanted)
    objects.insert(each.objects.begin(), each.objects.end());
  return device::kernel_forms(
      {.bundle = bundle,
       .cpu = inputs.cpu,
       .cache = inputs.cache,
       .threads = inputs.jobs,
       .contents = contents,
       .fetch = fetch,
       .progress = inputs.progress,
       .form = inputs.checked ? lower::Form::checked_kernels : lower::Form::kernel_forms},
      objects);
}

// The kernels of a configuration, demangled. Links with the same sources have the same kernels.
image::CpuKernels kernels_in(const image::Bundle& bundle, const ObjectKernels& read, const Wanted& wanted) {
  const std::vector<image::CpuKernel> native = native_kernels(bundle, wanted.kit);
  std::set<image::CpuKernel> kernels(native.begin(), native.end());
  for (const auto& [id, object] : wanted.objects)
    for (const cpukernel::Kernel& kernel : read.at(id))
      kernels.insert(reported(kernel.source, kernel));
  image::CpuKernels result = image::cpu_kernels({kernels.begin(), kernels.end()});
  image::demangle(result.kernels);
  return result;
}

} // namespace

image::CpuKernels reported_kernels(const std::vector<device::DeviceCode::SourceKernel>& kernels,
                                   const image::Bundle& bundle, const std::set<Digest>& kit) {
  std::vector<image::CpuKernel> all = native_kernels(bundle, kit);
  for (const auto& [source, kernel] : kernels)
    all.push_back(reported(source, kernel));
  image::CpuKernels result = image::cpu_kernels(std::move(all));
  image::demangle(result.kernels);
  return result;
}

Result<image::CpuKernels> planned_kernels(const KernelInputs& inputs, const std::string& configuration,
                                          const device::DevicePlan& plan, const std::set<Digest>& kit) {
  const image::Bundle& bundle = inputs.source.bundle();
  const Wanted wanted{configuration, device::kernel_objects(bundle, plan), kit};
  XAAS_TRY(const ObjectKernels read, read_kernels(inputs, {wanted}));
  return kernels_in(bundle, read, wanted);
}

Result<ImageKernels> kernels_of(const image::ApplicationImage& source, const lower::ObjectCache* cache,
                                unsigned jobs, Progress& progress) {
  const image::Bundle& bundle = source.bundle();
  ImageKernels result;
  if (bundle.configurations.empty())
    return result;
  std::vector<Wanted> wanted;
  std::map<std::string, std::vector<std::string>> obstacles;
  for (const image::BundleConfiguration& configuration : bundle.configurations) {
    const std::string id = configuration.configuration.id();
    XAAS_TRY(image::Usage usage, image::usage_of(bundle, configuration));
    const Result<device::DevicePlan> plan = plan_for_cpu(bundle, configuration, usage);
    if (plan)
      wanted.push_back({id, device::kernel_objects(bundle, *plan), std::move(usage.kit)});
    else if (plan.error().kind == ErrorKind::unsatisfied)
      obstacles[plan.error().message].push_back(id);
    else
      return plan.error();
  }
  // The form is the same on every CPU of the architecture.
  XAAS_TRY(const target::Cpu cpu, target::cpu_by_name(bundle.arch, target::isa_levels(bundle.arch).front()));
  XAAS_TRY(const ObjectKernels read, read_kernels({source, cpu, cache, jobs, progress}, wanted));
  std::map<image::CpuKernel, std::vector<std::string>> kernels;
  for (const Wanted& each : wanted)
    for (const image::CpuKernel& kernel : kernels_in(bundle, read, each).kernels)
      kernels[kernel].push_back(each.configuration);
  for (auto& [kernel, configurations] : kernels)
    result.kernels.push_back({kernel, std::move(configurations)});
  for (auto& [reason, configurations] : obstacles)
    result.obstacles.push_back({reason, std::move(configurations)});
  return result;
}

} // namespace xaas::deploy
