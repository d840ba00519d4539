// Answers as Level Zero for the GPUs of FAKE_LEVEL_ZERO: PCI bus, name, device identifier, bytes of memory,
// flags. Fields are written where the specification's structures have them (x86-64 and AArch64).
#include "behavior.h"

#include <cstdint>

namespace {

const std::vector<std::string>& gpu(void* device) {
  static const auto all = fake::gpus("FAKE_LEVEL_ZERO");
  return all.at(reinterpret_cast<size_t>(device) - 1);
}

template <typename T> void put(void* structure, size_t offset, T value) {
  std::memcpy(static_cast<char*>(structure) + offset, &value, sizeof(value));
}

int kind(void* structure) {
  int value;
  std::memcpy(&value, structure, sizeof(value));
  return value;
}

constexpr unsigned invalid = 0x78000004;

} // namespace

extern "C" {

unsigned zeInit(uint32_t) {
  const char* hierarchy = std::getenv("ZE_FLAT_DEVICE_HIERARCHY");
  return hierarchy && !std::strcmp(hierarchy, "COMPOSITE") ? static_cast<unsigned>(fake::begin()) : invalid;
}
unsigned zeDriverGet(uint32_t* count, void** drivers) {
  *count = 1;
  if (drivers)
    drivers[0] = drivers;
  return 0;
}
unsigned zeDeviceGet(void*, uint32_t* count, void** devices) {
  *count = static_cast<uint32_t>(fake::gpus("FAKE_LEVEL_ZERO").size());
  for (uint32_t i = 0; devices && i < *count; ++i)
    devices[i] = reinterpret_cast<void*>(size_t(i) + 1);
  return 0;
}
unsigned zeDeviceGetProperties(void* device, void* properties) {
  if (kind(properties) != 0x3)
    return invalid;
  put<uint32_t>(properties, 16, 1); // GPU
  put<uint32_t>(properties, 20, 0x8086);
  put<uint32_t>(properties, 24, static_cast<uint32_t>(std::stoul(gpu(device)[2], nullptr, 16)));
  put<uint32_t>(properties, 28, static_cast<uint32_t>(std::stoul(gpu(device)[4])));
  std::strcpy(static_cast<char*>(properties) + 112, gpu(device)[1].c_str());
  return 0;
}
// Two kinds of memory, of half the size each.
unsigned zeDeviceGetMemoryProperties(void* device, uint32_t* count, void* properties) {
  *count = 2;
  for (int i = 0; properties && i < 2; ++i) {
    if (kind(static_cast<char*>(properties) + 296 * i) != 0x7)
      return invalid;
    put<uint64_t>(properties, size_t(296) * i + 32, std::stoull(gpu(device)[3]) / 2);
  }
  return 0;
}
unsigned zeDevicePciGetPropertiesExt(void* device, void* properties) {
  if (kind(properties) != 0x10008)
    return invalid;
  put<uint32_t>(properties, 20, static_cast<uint32_t>(std::stoul(gpu(device)[0], nullptr, 16)));
  return 0;
}
}
