// Source: The OpenCL Specification, version 3.0, "The OpenCL Platform Layer"; extension cl_khr_pci_bus_info.
#include "drivers.h"

namespace xaas::system {

namespace {

using OpenClStatus = int; // 0: success
struct Platform;
struct Device;

constexpr uint64_t device_type_gpu = 1 << 2;
constexpr uint32_t device_vendor_id = 0x1001, device_global_memory = 0x101F, device_name = 0x102B,
                   driver_version = 0x102D, device_unified_memory = 0x1035, device_pci = 0x410F,
                   intel_vendor = 0x8086;

struct Functions {
  OpenClStatus (*platforms)(uint32_t, Platform**, uint32_t*);
  OpenClStatus (*devices)(Platform*, uint64_t, uint32_t, Device**, uint32_t*);
  OpenClStatus (*info)(Device*, uint32_t, size_t, void*, size_t*);
};

template <typename T> bool get(const Functions& functions, Device* device, uint32_t what, T& value) {
  return functions.info(device, what, sizeof(T), &value, nullptr) == 0;
}

std::string text(const Functions& functions, Device* device, uint32_t what) {
  char value[512] = {};
  return functions.info(device, what, sizeof(value) - 1, value, nullptr) == 0 ? value : "";
}

} // namespace

DriverAnswer ask_opencl(const SharedLibrary& library) {
  DriverAnswer answer;
  const Functions functions = {
      library.function<OpenClStatus(uint32_t, Platform**, uint32_t*)>("clGetPlatformIDs"),
      library.function<OpenClStatus(Platform*, uint64_t, uint32_t, Device**, uint32_t*)>("clGetDeviceIDs"),
      library.function<OpenClStatus(Device*, uint32_t, size_t, void*, size_t*)>("clGetDeviceInfo")};
  if (!functions.platforms || !functions.devices || !functions.info) {
    answer.trouble = "it lacks OpenCL functions";
    return answer;
  }
  Platform* platforms[64] = {};
  uint32_t platform_count = 0;
  functions.platforms(64, platforms, &platform_count);
  for (uint32_t p = 0; p < platform_count && p < 64; ++p) {
    Device* devices[256] = {};
    uint32_t device_count = 0;
    if (functions.devices(platforms[p], device_type_gpu, 256, devices, &device_count) != 0)
      continue;
    for (uint32_t d = 0; d < device_count && d < 256; ++d) {
      uint32_t vendor = 0, unified = 0, pci[4] = {};
      if (!get(functions, devices[d], device_vendor_id, vendor) || vendor != intel_vendor)
        continue;
      DriverGpu gpu;
      gpu.facts.vendor = "intel";
      gpu.facts.model = text(functions, devices[d], device_name);
      gpu.facts.driver = text(functions, devices[d], driver_version);
      get(functions, devices[d], device_global_memory, gpu.facts.memory_bytes);
      gpu.integrated = get(functions, devices[d], device_unified_memory, unified) && unified;
      if (get(functions, devices[d], device_pci, pci))
        gpu.facts.pci = pci_address(pci[0], pci[1], pci[2], pci[3]);
      answer.gpus.push_back(std::move(gpu));
    }
  }
  return answer;
}

} // namespace xaas::system
