// From a bundle's records to the installed files of one configuration.
#pragma once

#include "objects.h"

#include <xaas/base/result.h>
#include <xaas/lower/lower.h>

#include <cstdint>
#include <map>
#include <string>

namespace xaas::deploy {

// The code in a linked file that was not generated for the target alone.
struct CodeOrigin {
  lower::OwnCode own;  // of its units
  bool native = false; // it has objects that did not come from IR
};

struct Assembly {
  std::map<std::string, std::string> contents; // of installed files, by path; no directories or symlinks
  std::map<std::string, CodeOrigin> origins;   // of files that were linked here, by path
  uint64_t lowered = 0, links = 0;             // with those of device code
  uint64_t cached_device_code = 0;             // device jobs that the cache had
  uint64_t refused_bitcode = 0;                // Objects::refused_bitcode()
  double lower_seconds = 0, link_seconds = 0;
};

// Makes the device code, lowers the units that `objects` does not have, and makes archives and links again in
// the order of their needs, each from the contents of the inputs alone.
Result<Assembly> assemble(const AssemblyInputs& inputs, Objects objects);

} // namespace xaas::deploy
