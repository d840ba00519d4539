// Answers as an OpenCL loader with one platform for the GPUs of FAKE_OPENCL: name, vendor identifier, bytes
// of memory. It does not know of PCI.
#include "behavior.h"

#include <cstdint>

namespace {

const std::vector<std::string>& gpu(void* device) {
  static const auto all = fake::gpus("FAKE_OPENCL");
  return all.at(reinterpret_cast<size_t>(device) - 1);
}

} // namespace

extern "C" {

int clGetPlatformIDs(uint32_t, void** platforms, uint32_t* count) {
  platforms[0] = platforms;
  *count = 1;
  return fake::begin();
}
int clGetDeviceIDs(void*, uint64_t type, uint32_t, void** devices, uint32_t* count) {
  *count = static_cast<uint32_t>(fake::gpus("FAKE_OPENCL").size());
  for (uint32_t i = 0; i < *count; ++i)
    devices[i] = reinterpret_cast<void*>(size_t(i) + 1);
  return type == 4 ? 0 : -30;
}
int clGetDeviceInfo(void* device, uint32_t what, size_t size, void* value, size_t*) {
  const auto number = [&](uint64_t content) {
    std::memcpy(value, &content, size < 8 ? size : 8);
    return 0;
  };
  switch (what) {
  case 0x102B:
    std::strncpy(static_cast<char*>(value), gpu(device)[0].c_str(), size);
    return 0;
  case 0x102D:
    std::strncpy(static_cast<char*>(value), "23.43.27642", size);
    return 0;
  case 0x1001:
    return number(std::stoul(gpu(device)[1], nullptr, 16));
  case 0x101F:
    return number(std::stoull(gpu(device)[2]));
  case 0x1035:
    return number(0);
  default:
    return -30; // CL_INVALID_VALUE
  }
}
}
