// From a bundle's records to the installed files of one configuration.
#pragma once

#include "lowering.h"

#include <xaas/base/result.h>
#include <xaas/image/kernels.h>
#include <xaas/lower/lower.h>

#include <cstdint>
#include <map>
#include <optional>
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
  std::optional<image::CpuKernels> kernels;    // if the configuration's kernels run on the CPU
  uint64_t links = 0;                          // with those of device code
  double seconds = 0;
};

// Makes archives and links again in the order of their needs, each from the contents of the inputs alone. An
// archive that only links read has no members that they do not need.
Result<Assembly> assemble(const AssemblyInputs& inputs, Lowered lowered);

} // namespace xaas::deploy
