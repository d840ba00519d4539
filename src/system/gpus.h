#pragma once

#include "drivers.h"
#include "machine.h"

namespace xaas::system {

// GPUs by the files of their drivers and, where those are there, by the drivers' libraries, which work
// meanwhile.
class GpuProbe {
public:
  // `directories`: where libraries are. All three must outlive this.
  GpuProbe(const Machine& machine, const Probes& probes, const std::vector<std::string>& directories);
  // Waits for the libraries, and adds each GPU once, with where each fact is from; notes what was in the way.
  void finish(SystemDescription& description);

private:
  void ask(Driver driver, const std::string& instead, const char* soname,
           std::vector<DriverQuestion>& questions);
  void probe_nvidia();
  void probe_amd();
  void probe_intel();

  const Machine& machine_;
  const Probes& probes_;
  const std::vector<std::string>& directories_;
  std::vector<DriverGpu> nvidia_, amd_, intel_;
  std::vector<DriverQuestion> ask_nvidia_, ask_intel_; // in the order of their preference
};

} // namespace xaas::system
