// What a source is compiled to beside its unit for the host.
#pragma once

#include "c/compile.h"

#include <xaas/base/digest.h>

#include <functional>
#include <map>
#include <string>

namespace xaas::frontdoor {

struct DeviceUnits {
  CompileOutcome outcome = CompileOutcome::captured; // `failed` or `carried` where one of them is
  std::string reason;                                // of `carried`
  std::map<std::string, Digest> units;               // as in ir::Unit::device
};

// How a unit of the host gets its units for devices. Those of CUDA are compiled first; those of OpenMP when
// the module of the host is known, because its target regions name them.
struct DeviceCode {
  std::string offload = {}; // as in ir::Unit
  std::map<std::string, Digest> units = {};
  std::function<DeviceUnits(const std::string& host_bitcode)> capture = {}; // empty: `units` are all
};

} // namespace xaas::frontdoor
