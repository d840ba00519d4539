// The libraries of GPU drivers: NVML, Level Zero, OpenCL. A broken driver may crash or hang, so they are
// loaded only in a child process with a time limit.
#pragma once

#include <xaas/base/helper_process.h>

#include <xaas/system/system.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace xaas::system {

struct DriverGpu {
  Gpu facts;               // empty or 0 where the library does not say
  uint64_t device = 0;     // PCI device identifier; 0: not known
  bool integrated = false; // part of a processor
};

struct DriverAnswer {
  std::string library; // the one that answered; empty: there is none, which is not an error
  std::string trouble;
  std::vector<DriverGpu> gpus;
};

enum class Driver { nvml, level_zero, opencl };

// Asks one library, in a child that starts immediately.
class DriverQuestion {
public:
  // `libraries`: names or paths, of which the first that can be loaded is asked.
  DriverQuestion(Driver driver, std::vector<std::string> libraries, std::chrono::milliseconds limit);
  DriverAnswer answer(); // waits for the answer until the limit since the start

private:
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::milliseconds limit_;
  std::string name_;
  std::unique_ptr<HelperProcess> helper_;
};

// Run in the child: load the library and ask it.
class SharedLibrary;
DriverAnswer ask_nvml(const SharedLibrary& library);
DriverAnswer ask_level_zero(const SharedLibrary& library);
DriverAnswer ask_opencl(const SharedLibrary& library);

// A loaded library, which stays loaded until the child ends.
class SharedLibrary {
public:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  // Null if it has no such function.
  template <typename Function> Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

private:
  void* symbol(const char* name) const;
  void* handle_;
};

// "0000:1c:00.0", the form of the kernel; the domain has more digits only if it needs them.
std::string pci_address(unsigned domain, unsigned bus, unsigned device, unsigned function);
// The same from a driver's text such as "00000000:1C:00.0"; empty if it is not an address.
std::string pci_address(const std::string& text);

} // namespace xaas::system
