// GPUs, by the files of their drivers. No library of a vendor is loaded and no program is run: files answer
// at once, on a login node too, and can be faked.
//
// Sources: NVIDIA driver README, "The /proc file system interface"; Linux
// Documentation/ABI/testing/sysfs-bus-pci, drivers/gpu/drm/amd/amdkfd/kfd_topology.c (properties of KFD
// nodes); os-release-like /opt/rocm/.info/version.
#include "machine.h"
#include "names.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cstdio>

namespace xaas::system {

namespace {

// "Model:   NVIDIA H200" of a file with such lines.
std::string field(const std::string& text, const std::string& name) {
  for (const std::string& line : split(text, '\n'))
    if (line.starts_with(name) && line.find(':') != std::string::npos)
      return trim(line.substr(line.find(':') + 1));
  return {};
}

// The name as a whole word: "A10" is not in "A100".
std::string nvidia_arch(const std::string& model) {
  const auto is_part = [](char c) { return std::isdigit(static_cast<unsigned char>(c)); };
  for (const GpuName& name : Names::get().nvidia)
    for (size_t at = model.find(name.part); at != std::string::npos; at = model.find(name.part, at + 1)) {
      const size_t end = at + name.part.size();
      if ((at == 0 || !std::isalnum(static_cast<unsigned char>(model[at - 1]))) &&
          (end == model.size() || name.series || !is_part(model[end])))
        return name.arch;
    }
  return {};
}

void probe_nvidia(const Machine& machine, std::vector<Gpu>& gpus) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ..."
  std::string driver;
  for (const std::string& word : split(machine.text("/proc/driver/nvidia/version").substr(0, 300), ' '))
    if (driver.empty() && word.find('.') != std::string::npos &&
        std::isdigit(static_cast<unsigned char>(word[0])))
      driver = word;
  const std::string directory = "/proc/driver/nvidia/gpus";
  for (const std::string& entry : machine.entries(directory)) {
    Gpu gpu;
    gpu.vendor = "nvidia";
    gpu.evidence = directory + "/" + entry + "/information";
    gpu.model = field(machine.text(gpu.evidence), "Model");
    gpu.arch = nvidia_arch(gpu.model);
    gpu.driver = driver;
    gpus.push_back(std::move(gpu));
  }
}

// gfx_target_version: major, minor and stepping as two decimal digits each; LLVM writes minor and stepping in
// hexadecimal.
std::string amd_arch(uint64_t version) {
  if (version == 0)
    return {};
  char text[32];
  std::snprintf(text, sizeof(text), "gfx%u%x%x", static_cast<unsigned>(version / 10000),
                static_cast<unsigned>(version / 100 % 100), static_cast<unsigned>(version % 100));
  return text;
}

std::optional<uint64_t> property(const std::string& properties, const std::string& name) {
  for (const std::string& line : split(properties, '\n'))
    if (line.starts_with(name + " "))
      return parse_number(line.substr(name.size() + 1));
  return std::nullopt;
}

void probe_amd(const Machine& machine, std::vector<Gpu>& gpus) {
  const std::string directory = "/sys/class/kfd/kfd/topology/nodes";
  for (const std::string& entry : machine.entries(directory)) {
    const std::string node = directory + "/" + entry;
    const std::string properties = machine.text(node + "/properties");
    const std::optional<uint64_t> version = property(properties, "gfx_target_version");
    if (!version || *version == 0)
      continue; // a CPU
    Gpu gpu;
    gpu.vendor = "amd";
    gpu.evidence = node + "/properties";
    gpu.arch = amd_arch(*version);
    gpu.model = machine.text(node + "/name");
    for (const std::string& bank : machine.entries(node + "/mem_banks"))
      gpu.memory_bytes +=
          property(machine.text(node + "/mem_banks/" + bank + "/properties"), "size_in_bytes").value_or(0);
    gpu.driver = machine.text("/sys/module/amdgpu/version");
    gpu.runtime = machine.text("/opt/rocm/.info/version");
    gpu.runtime = gpu.runtime.substr(0, gpu.runtime.find('-'));
    gpus.push_back(std::move(gpu));
  }
}

void probe_intel(const Machine& machine, std::vector<Gpu>& gpus) {
  const std::string directory = "/sys/class/drm";
  for (const std::string& entry : machine.entries(directory)) {
    if (!entry.starts_with("card") || entry.find('-') != std::string::npos)
      continue;
    const std::string device = directory + "/" + entry + "/device";
    if (machine.text(device + "/vendor") != "0x8086")
      continue;
    const std::string id = machine.text(device + "/device");
    for (const GpuDevice& known : Names::get().intel)
      if (std::find(known.devices.begin(), known.devices.end(), id) != known.devices.end())
        gpus.push_back({"intel", known.model, known.arch, 0, machine.text("/sys/module/i915/version"), "",
                        device + "/device"});
  }
}

} // namespace

void probe_gpus(const Machine& machine, std::vector<Gpu>& gpus) {
  probe_nvidia(machine, gpus);
  probe_amd(machine, gpus);
  probe_intel(machine, gpus);
}

} // namespace xaas::system
