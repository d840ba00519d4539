#pragma once

#include "drivers.h"
#include "machine.h"

namespace xaas::system {

// GPUs according to their drivers' files and, if present, the drivers' libraries, which are queried
// concurrently.
class GpuProbe {
public:
  // `directories` contain libraries. All three arguments must outlive this object.
  GpuProbe(const Machine& machine, const Probes& probes, const std::vector<std::string>& directories);
  // Waits for the libraries and adds each GPU once, with the source of each fact. Notes any obstacles.
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
  std::vector<DriverQuestion> ask_nvidia_, ask_intel_; // in order of preference
};

} // namespace xaas::system
