// Which runtime.
#pragma once

#include "adapters.h"

#include <functional>

namespace xaas::run {

// The first of `names` (empty: all that are known) that is there and can run the program. usage: a name that
// is not known; missing_tool: none serves, with a reason for each.
Result<Found> choose_runtime(const std::vector<std::string>& names, const Program& program);

} // namespace xaas::run
