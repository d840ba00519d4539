// The host's GPUs, for a program in an image.
#pragma once

#include "program.h"

namespace xaas::run {

// The host's GPUs: kinds, device files, and binds of the drivers' libraries and files.
struct HostGpus {
  std::vector<const runtimes::GpuKind*> kinds;
  std::vector<std::string> devices;
  std::vector<Bind> libraries; // bound into host_libraries
  std::vector<Bind> files;
};
// `directories`: where the host's loader searches.
HostGpus find_gpus(const fs::path& root, const std::vector<std::string>& directories);

} // namespace xaas::run
