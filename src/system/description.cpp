#include <xaas/system/system.h>

namespace xaas::system {

Result<SystemDescription> with_cpu(SystemDescription description, const std::string& name) {
  XAAS_TRY(target::Cpu cpu, target::cpu_by_name(description.arch, name));
  description.cpu.vendor.clear();
  description.cpu.model.clear();
  description.evidence.erase("cpu.features");
  description.evidence.erase("cpu.model");
  description.cpu.name = std::move(cpu.name);
  description.cpu.level = target::isa_level(cpu.arch, cpu.features);
  description.cpu.features = std::move(cpu.features);
  return description;
}

Result<SystemDescription> any_system(const std::string& arch, const std::string& cpu) {
  SystemDescription description;
  description.arch = arch;
  return with_cpu(std::move(description), cpu);
}

Gpu cpu_as_gpu() {
  Gpu gpu;
  gpu.vendor = gpu.arch = "cpu";
  gpu.model = "kernels on the CPU";
  gpu.evidence = "--gpu cpu";
  return gpu;
}

bool is_cpu(const Gpu& gpu) {
  return gpu.vendor == "cpu";
}

target::Cpu target_cpu(const SystemDescription& description) {
  const std::string& name = description.cpu.name;
  const Result<target::Cpu> known = target::cpu_by_name(description.arch, name);
  return {description.arch, known ? known->name : "generic",
          target::usable_features(description.arch, description.cpu.features)};
}

std::vector<target::Gpu> target_gpus(const SystemDescription& description) {
  std::vector<target::Gpu> gpus;
  for (const Gpu& gpu : description.gpus) {
    if (gpu.vendor != "nvidia" && gpu.vendor != "amd")
      continue;
    const Result<target::GpuArch> arch =
        target::parse_gpu_arch(gpu.arch.substr(0, gpu.arch.find(':'))); // without settings
    gpus.push_back({gpu.vendor == "amd" ? target::GpuArch::Vendor::amd : target::GpuArch::Vendor::nvidia,
                    arch ? std::optional(*arch) : std::nullopt});
  }
  return gpus;
}

std::vector<target::Gpu> host_gpus() {
  Probes probes;
  probes.only_gpus = true;
  return target_gpus(detect(probes));
}

} // namespace xaas::system
