// From a bundle's IR modules to the objects of one configuration.
#pragma once

#include "objects.h"

#include <xaas/base/result.h>
#include <xaas/deploy/deploy.h>
#include <xaas/device/make.h>

#include <cstdint>
#include <functional>
#include <set>

namespace xaas::deploy {

struct Lowered {
  Objects objects;
  device::DeviceCode device;
  uint64_t lowered = 0, cached = 0; // with device code
  uint64_t unneeded = 0;            // members of archives that no link takes
  double fetch_seconds = 0, lower_seconds = 0;
  CriticalPath path = {};
  lower::Profiling profiling = {};
  // Names of functions (lower::Object); those of a header count once.
  std::set<std::string> profilable = {}, profiled = {};
  std::map<Digest, std::set<std::string>> interposed = {}; // names of units of shared libraries, with LTO
  // Sources with a profile of the project that has no counts of their functions.
  std::set<std::string> without_counts = {};
};

// Puts contents of the image into AssemblyInputs::contents.
using Fetch = std::function<Result<void>(const std::set<Digest>&)>;

// Makes the device code, and every object that the configuration's archives and links need and that the cache
// does not have. Fetches what these, and the links, read.
Result<Lowered> lower_units(const AssemblyInputs& inputs, const Fetch& fetch);

} // namespace xaas::deploy
