// A driver's files are available at once, even on a login node, and show which libraries are worth asking.
// The libraries know more than the files. Programs (nvidia-smi, rocminfo) are not run, because they only use
// the libraries.
//
// Sources: NVIDIA driver README, "The /proc file system interface"; Linux
// Documentation/ABI/testing/sysfs-bus-pci, drivers/gpu/drm/amd/amdkfd/kfd_topology.c (properties of KFD
// nodes), Documentation/gpu/amdgpu (product_name).
#include "gpus.h"
#include "names.h"

#include <xaas/base/text.h>
#include <xaas/base/version.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace xaas::system {

namespace {

// "SOURCE: FACT, FACT"
void add_evidence(std::string& evidence, const std::string& source, const std::vector<std::string>& facts) {
  if (!facts.empty())
    evidence += (evidence.empty() ? "" : "; ") + source + ": " + join(facts, ", ");
}

// The value in a file with lines such as "Model:   NVIDIA H200".
std::string field(const std::string& text, const std::string& name) {
  for (const std::string& line : split(text, '\n'))
    if (line.starts_with(name) && line.find(':') != std::string::npos)
      return trim(line.substr(line.find(':') + 1));
  return {};
}

// Matches whole words: "A10" does not match "A100".
std::string nvidia_arch(const std::string& model) {
  for (const GpuName& name : Names::get().nvidia)
    for (size_t at = model.find(name.part); at != std::string::npos; at = model.find(name.part, at + 1)) {
      const size_t end = at + name.part.size();
      if ((at == 0 || !std::isalnum(static_cast<unsigned char>(model[at - 1]))) &&
          (end == model.size() || name.series || !is_digit(model[end])))
        return name.arch;
    }
  return {};
}

// gfx_target_version has two decimal digits each for major, minor and stepping; LLVM writes minor and
// stepping in hexadecimal.
std::string amd_arch(uint64_t version) {
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

// ROCm's version and the file that states it: of the environment's ROCm, else the machine's default, else the
// newest.
std::pair<std::string, std::string> rocm_version(const Machine& machine) {
  std::vector<std::string> prefixes = {machine.environment("ROCM_PATH"), "/opt/rocm"};
  std::vector<std::string> others = machine.glob("/opt/rocm-*");
  std::sort(others.rbegin(), others.rend(), version_text_less);
  prefixes.insert(prefixes.end(), others.begin(), others.end());
  for (const std::string& prefix : prefixes) {
    if (!prefix.starts_with("/"))
      continue;
    const std::string file = prefix + "/.info/version", version = machine.text(file);
    if (!version.empty())
      return {version.substr(0, version.find('-')), file};
  }
  return {};
}

// Adds what the library knows about a GPU from the files; `decides`: even what the files already say.
void merge(Gpu& gpu, const Gpu& more, const std::string& library) {
  std::vector<std::string> facts;
  const auto take = [&](const char* name, std::string& mine, const std::string& theirs, bool decides) {
    if (theirs.empty() || (!mine.empty() && !decides))
      return;
    mine = theirs;
    facts.emplace_back(name);
  };
  take("model", gpu.model, more.model, gpu.vendor == "intel"); // the files have only the family's name
  take("arch", gpu.arch, more.arch, true);
  take("driver", gpu.driver, more.driver, false);
  take("runtime", gpu.runtime, more.runtime, true);
  take("pci", gpu.pci, more.pci, false);
  if (more.memory_bytes && !gpu.memory_bytes) {
    gpu.memory_bytes = more.memory_bytes;
    facts.emplace_back("memory_bytes");
  }
  add_evidence(gpu.evidence, library, facts);
}

// The GPU from the files that matches one of the library, by address or else by identifier. Matches each only
// once.
DriverGpu* same(std::vector<DriverGpu>& gpus, const DriverGpu& other, std::vector<bool>& taken) {
  for (const bool by_address : {true, false})
    for (size_t i = 0; i < gpus.size(); ++i)
      if (!taken[i] && (by_address ? !other.facts.pci.empty() && gpus[i].facts.pci == other.facts.pci
                                   : (other.facts.pci.empty() || gpus[i].facts.pci.empty()) &&
                                         (!other.device || other.device == gpus[i].device))) {
        taken[i] = true;
        return &gpus[i];
      }
  return nullptr;
}

// Combines the files with the answer of the first library that knows a GPU.
void join_answers(const Machine& machine, std::vector<DriverGpu>& gpus,
                  std::vector<DriverQuestion>& questions) {
  for (DriverQuestion& question : questions) {
    const DriverAnswer answer = question.answer();
    if (!answer.trouble.empty())
      machine.note((answer.library.empty() ? "" : answer.library + ": ") + answer.trouble);
    const size_t by_files = gpus.size();
    std::vector<bool> taken(by_files);
    size_t shown = 0;
    for (const DriverGpu& gpu : answer.gpus) {
      if (gpu.integrated)
        continue;
      ++shown;
      DriverGpu* known = same(gpus, gpu, taken);
      if (!known) {
        gpus.emplace_back();
        gpus.back().facts.vendor = gpu.facts.vendor;
        gpus.back().device = gpu.device;
        taken.push_back(true);
        known = &gpus.back();
      }
      merge(known->facts, gpu.facts, answer.library);
    }
    if (shown && std::count(taken.begin(), taken.end(), false))
      machine.note(answer.library + " shows this process " + std::to_string(shown) + " of " +
                   std::to_string(gpus.size()) + " GPUs");
    if (shown)
      return;
  }
}

} // namespace

GpuProbe::GpuProbe(const Machine& machine, const Probes& probes, const std::vector<std::string>& directories)
    : machine_(machine), probes_(probes), directories_(directories) {
  probe_nvidia();
  probe_intel();
  probe_amd();
}

void GpuProbe::ask(Driver driver, const std::string& instead, const char* soname,
                   std::vector<DriverQuestion>& questions) {
  std::vector<std::string> libraries;
  if (!instead.empty())
    libraries = {instead};
  else if (machine_.real())
    libraries = {soname};
  else
    return;
  // The loader of a relocated program may not know the machine's directories.
  if (instead.empty())
    for (const std::string& directory : directories_)
      if (machine_.has(directory + "/" + soname))
        libraries.push_back(directory + "/" + soname);
  questions.emplace_back(driver, std::move(libraries), probes_.limits.drivers);
}

void GpuProbe::probe_nvidia() {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ..."
  const std::string version_file = "/proc/driver/nvidia/version", directory = "/proc/driver/nvidia/gpus";
  std::string driver;
  for (const std::string& word : split(machine_.text(version_file).substr(0, 300), ' '))
    if (driver.empty() && word.find('.') != std::string::npos && is_digit(word[0]))
      driver = word;
  for (const std::string& entry : machine_.entries(directory)) {
    DriverGpu found;
    Gpu& gpu = found.facts;
    gpu.vendor = "nvidia";
    const std::string file = directory + "/" + entry + "/information";
    gpu.pci = pci_address(entry);
    gpu.model = field(machine_.text(file), "Model");
    gpu.arch = nvidia_arch(gpu.model);
    add_evidence(gpu.evidence, file, {"model"});
    if (!gpu.arch.empty())
      add_evidence(gpu.evidence, "its name", {"arch"});
    gpu.driver = driver;
    if (!driver.empty())
      add_evidence(gpu.evidence, version_file, {"driver"});
    nvidia_.push_back(std::move(found));
  }
  if (!nvidia_.empty() || machine_.has("/dev/nvidiactl"))
    ask(Driver::nvml, probes_.nvml, "libnvidia-ml.so.1", ask_nvidia_);
}

void GpuProbe::probe_amd() {
  const std::string directory = "/sys/class/kfd/kfd/topology/nodes",
                    driver_file = "/sys/module/amdgpu/version";
  std::string runtime, runtime_file;
  for (const std::string& entry : machine_.entries(directory)) {
    const std::string node = directory + "/" + entry, properties = machine_.text(node + "/properties");
    const std::optional<uint64_t> version = property(properties, "gfx_target_version");
    if (!version || *version == 0)
      continue; // a CPU
    DriverGpu found;
    Gpu& gpu = found.facts;
    gpu.vendor = "amd";
    gpu.arch = amd_arch(*version);
    if (const std::optional<uint64_t> place = property(properties, "location_id")) {
      const auto bits = static_cast<unsigned>(*place);
      gpu.pci = pci_address(static_cast<unsigned>(property(properties, "domain").value_or(0)),
                            bits >> 8 & 0xff, bits >> 3 & 0x1f, bits & 7);
    }
    for (const std::string& bank : machine_.entries(node + "/mem_banks"))
      gpu.memory_bytes +=
          property(machine_.text(node + "/mem_banks/" + bank + "/properties"), "size_in_bytes").value_or(0);
    add_evidence(gpu.evidence, node, {"arch", "memory_bytes"});
    const std::string product = "/sys/bus/pci/devices/" + gpu.pci + "/product_name";
    gpu.model = gpu.pci.empty() ? "" : machine_.text(product);
    std::string model_file = product;
    if (gpu.model.empty()) {
      gpu.model = machine_.text(node + "/name");
      model_file = node + "/name";
    }
    if (!gpu.model.empty())
      add_evidence(gpu.evidence, model_file, {"model"});
    gpu.driver = machine_.text(driver_file);
    if (!gpu.driver.empty())
      add_evidence(gpu.evidence, driver_file, {"driver"});
    if (amd_.empty())
      std::tie(runtime, runtime_file) = rocm_version(machine_);
    gpu.runtime = runtime;
    if (!runtime.empty())
      add_evidence(gpu.evidence, runtime_file, {"runtime"});
    amd_.push_back(std::move(found));
  }
}

void GpuProbe::probe_intel() {
  const std::string directory = "/sys/class/drm";
  bool there = false;
  for (const std::string& entry : machine_.entries(directory)) {
    if (!entry.starts_with("card") || entry.find('-') != std::string::npos)
      continue;
    const std::string device = directory + "/" + entry + "/device";
    if (machine_.text(device + "/vendor") != "0x8086")
      continue;
    const std::string id = machine_.text(device + "/device");
    std::string address;
    for (const std::string& line : split(machine_.text(device + "/uevent"), '\n'))
      if (line.starts_with("PCI_SLOT_NAME="))
        address = pci_address(line.substr(14));
    // An integrated GPU is on the first bus.
    there = there || (!address.empty() && address.find(":00:") == std::string::npos);
    for (const GpuDevice& known : Names::get().intel) {
      if (std::find(known.devices.begin(), known.devices.end(), id) == known.devices.end())
        continue;
      there = true;
      DriverGpu found;
      Gpu& gpu = found.facts;
      gpu.vendor = "intel";
      gpu.model = known.model;
      gpu.arch = known.arch;
      gpu.pci = address;
      add_evidence(gpu.evidence, device + "/device", {"model", "arch"});
      for (const char* module : {"/sys/module/i915/version", "/sys/module/xe/version"})
        if (const std::string driver = machine_.text(module); !driver.empty() && gpu.driver.empty()) {
          gpu.driver = driver;
          add_evidence(gpu.evidence, module, {"driver"});
        }
      found.device = std::stoull(id, nullptr, 16);
      intel_.push_back(std::move(found));
    }
  }
  if (!there)
    return;
  ask(Driver::level_zero, probes_.level_zero, "libze_loader.so.1", ask_intel_);
  // Without an implementation, OpenCL's loader has nothing to ask.
  if (!machine_.entries("/etc/OpenCL/vendors").empty())
    ask(Driver::opencl, probes_.opencl, "libOpenCL.so.1", ask_intel_);
}

void GpuProbe::finish(SystemDescription& description) {
  join_answers(machine_, nvidia_, ask_nvidia_);
  join_answers(machine_, intel_, ask_intel_);
  for (DriverGpu& gpu : intel_) // one whose model the files do not name
    for (const GpuDevice& known : Names::get().intel)
      for (const std::string& id : known.devices)
        if (gpu.facts.arch.empty() && gpu.device == std::stoull(id, nullptr, 16)) {
          gpu.facts.arch = known.arch;
          add_evidence(gpu.facts.evidence, "its device identifier", {"arch"});
        }
  for (const auto* list : {&nvidia_, &amd_, &intel_})
    for (const DriverGpu& gpu : *list)
      description.gpus.push_back(gpu.facts);
}

} // namespace xaas::system
