// Answers as NVML for the GPUs of FAKE_NVML: PCI address, name, major and minor compute capability, bytes of
// memory.
#include "behavior.h"

#include <cstdio>

namespace {

struct Pci { // nvmlPciInfo_t
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem;
  char address[32];
};

const std::vector<std::string>& gpu(void* device) {
  static const auto all = fake::gpus("FAKE_NVML");
  return all.at(reinterpret_cast<size_t>(device) - 1);
}

} // namespace

extern "C" {

int nvmlInit_v2() {
  std::puts("a driver that prints");
  return fake::begin();
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "550.54.15");
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12040;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(fake::gpus("FAKE_NVML").size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(size_t(index) + 1);
  return gpu(*device)[0] == "hidden" ? 4 : 0; // no permission
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", gpu(device)[1].c_str());
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  *major = std::stoi(gpu(device)[2]);
  *minor = std::stoi(gpu(device)[3]);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  total_free_used[0] = std::stoull(gpu(device)[4]);
  total_free_used[1] = total_free_used[2] = 1;
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  std::snprintf(pci->address, sizeof(pci->address), "%s", gpu(device)[0].c_str());
  pci->device_id = 0x233010deu;
  return 0;
}
}
