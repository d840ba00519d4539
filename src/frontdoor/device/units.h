// The units for devices that a source is compiled to besides its unit for the host.
#pragma once

#include "c/compile.h"

#include <xaas/base/digest.h>

#include <functional>
#include <map>
#include <string>

namespace xaas::frontdoor {

struct DeviceUnits {
  CompileOutcome outcome = CompileOutcome::captured; // `failed` or `carried` if one of them is
  std::string reason;                                // for `carried`
  std::map<std::string, Digest> units;               // as in ir::Unit::device
};

// How a host unit gets its units for devices. Those of CUDA are compiled before it. Those of OpenMP are
// compiled when the host's module is known, because its target regions name them.
struct DeviceCode {
  std::string offload = {}; // as in ir::Unit
  std::map<std::string, Digest> units = {};
  std::function<DeviceUnits(const std::string& host_bitcode)> capture = {}; // empty: `units` has them all
};

} // namespace xaas::frontdoor
