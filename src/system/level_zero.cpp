// Source: oneAPI Level Zero specification, core programming guide and API, version 1. Structures start
// with their type and a pointer to extensions.
#include "drivers.h"

#include <algorithm>
#include <cstdlib>

namespace xaas::system {

namespace {

using ZeStatus = unsigned; // 0: success
struct DriverHandle;
struct Device;

struct DeviceProperties {
  int type_of_structure = 0x3;
  void* next = nullptr;
  int type = 0; // 1: GPU
  uint32_t vendor = 0, device = 0, flags = 0, subdevice = 0, clock = 0;
  uint64_t largest_allocation = 0;
  uint32_t contexts = 0, priorities = 0, threads = 0, width = 0, units = 0, subslices = 0, slices = 0;
  uint64_t timer = 0;
  uint32_t timestamp_bits = 0, kernel_timestamp_bits = 0;
  unsigned char uuid[16] = {};
  char name[256] = {};
};
static_assert(sizeof(DeviceProperties) == 368);

struct MemoryProperties {
  int type_of_structure = 0x7;
  void* next = nullptr;
  uint32_t flags = 0, clock = 0, width = 0;
  uint64_t bytes = 0;
  char name[256] = {};
};
static_assert(sizeof(MemoryProperties) == 296);

struct PciProperties {
  int type_of_structure = 0x10008;
  void* next = nullptr;
  uint32_t domain = 0, bus = 0, device = 0, function = 0;
  int32_t generation = 0, width = 0;
  int64_t bandwidth = 0;
};
static_assert(sizeof(PciProperties) == 48);

constexpr uint32_t integrated_flag = 1, intel = 0x8086;

ZeStatus call(const SharedLibrary& library, const char* name, auto... arguments) {
  using Function = ZeStatus(decltype(arguments)...);
  Function* function = library.function<Function>(name);
  return function ? function(arguments...) : ~0u;
}

// The elements of a list, queried twice: for its length and for its content.
template <typename T> std::vector<T> list(const SharedLibrary& library, const char* name, auto... of) {
  uint32_t count = 0;
  if (call(library, name, of..., &count, static_cast<T*>(nullptr)) != 0 || count > 1024)
    return {};
  std::vector<T> elements(count);
  if (count && call(library, name, of..., &count, elements.data()) != 0)
    return {};
  elements.resize(std::min<size_t>(count, elements.size()));
  return elements;
}

} // namespace

DriverAnswer ask_level_zero(const SharedLibrary& library) {
  DriverAnswer answer;
  setenv("ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE", 1); // cards, not their tiles
  unsetenv("ZE_AFFINITY_MASK");
  if (const ZeStatus status = call(library, "zeInit", uint32_t(0)); status != 0) {
    answer.trouble = "zeInit failed with error " + std::to_string(status);
    return answer;
  }
  for (DriverHandle* driver : list<DriverHandle*>(library, "zeDriverGet"))
    for (Device* device : list<Device*>(library, "zeDeviceGet", driver)) {
      DeviceProperties properties;
      if (call(library, "zeDeviceGetProperties", device, &properties) != 0 || properties.type != 1 ||
          properties.vendor != intel)
        continue;
      DriverGpu gpu;
      gpu.facts.vendor = "intel";
      properties.name[sizeof(properties.name) - 1] = 0;
      gpu.facts.model = properties.name;
      gpu.device = properties.device;
      gpu.integrated = properties.flags & integrated_flag;
      for (const MemoryProperties& memory :
           list<MemoryProperties>(library, "zeDeviceGetMemoryProperties", device))
        gpu.facts.memory_bytes += memory.bytes;
      PciProperties pci;
      if (call(library, "zeDevicePciGetPropertiesExt", device, &pci) == 0)
        gpu.facts.pci = pci_address(pci.domain, pci.bus, pci.device, pci.function);
      answer.gpus.push_back(std::move(gpu));
    }
  return answer;
}

} // namespace xaas::system
