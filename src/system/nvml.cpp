// Source: NVIDIA Management Library, API reference guide. Its functions keep their signatures; a new one gets
// a new name (_v2).
#include "drivers.h"

namespace xaas::system {

namespace {

using NvmlStatus = int; // 0: success
struct Device;
struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem;
  char address[32];
  char later[256]; // for members of later versions
};

NvmlStatus call(const SharedLibrary& library, const char* name, const char* older, auto... arguments) {
  using Function = NvmlStatus(decltype(arguments)...);
  Function* function = library.function<Function>(name);
  if (!function && older)
    function = library.function<Function>(older);
  return function ? function(arguments...) : 13; // NVML_ERROR_FUNCTION_NOT_FOUND
}

DriverGpu describe(const SharedLibrary& library, Device* device) {
  DriverGpu gpu;
  gpu.facts.vendor = "nvidia";
  char name[256] = {};
  if (call(library, "nvmlDeviceGetName", nullptr, device, &name[0], unsigned(sizeof(name) - 1)) == 0)
    gpu.facts.model = name;
  int major = 0, minor = 0;
  if (call(library, "nvmlDeviceGetCudaComputeCapability", nullptr, device, &major, &minor) == 0)
    gpu.facts.arch = "sm_" + std::to_string(major) + std::to_string(minor);
  Memory memory{};
  if (call(library, "nvmlDeviceGetMemoryInfo", nullptr, device, &memory) == 0)
    gpu.facts.memory_bytes = memory.total;
  Pci pci{};
  if (call(library, "nvmlDeviceGetPciInfo_v3", nullptr, device, &pci) == 0) {
    pci.address[sizeof(pci.address) - 1] = 0;
    gpu.facts.pci = pci_address(std::string(pci.address));
    gpu.device = pci.device_id >> 16;
  }
  return gpu;
}

} // namespace

DriverAnswer ask_nvml(const SharedLibrary& library) {
  DriverAnswer answer;
  if (const NvmlStatus status = call(library, "nvmlInit_v2", "nvmlInit"); status != 0) {
    answer.trouble = "nvmlInit_v2 failed with error " + std::to_string(status);
    return answer;
  }
  char driver[128] = {};
  call(library, "nvmlSystemGetDriverVersion", nullptr, &driver[0], unsigned(sizeof(driver) - 1));
  int cuda = 0; // 12040 for 12.4
  call(library, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion", &cuda);
  unsigned count = 0;
  if (const NvmlStatus status = call(library, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", &count);
      status != 0)
    answer.trouble = "nvmlDeviceGetCount_v2 failed with error " + std::to_string(status);
  for (unsigned i = 0; i < count && i < 1024; ++i) {
    Device* device = nullptr;
    if (call(library, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", i, &device) != 0)
      continue; // this process may not use it
    DriverGpu gpu = describe(library, device);
    gpu.facts.driver = driver;
    if (cuda)
      gpu.facts.runtime = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
    answer.gpus.push_back(std::move(gpu));
  }
  return answer;
}

} // namespace xaas::system
