// Which runtime runs a program.
#pragma once

#include "adapters.h"

#include <functional>

namespace xaas::run {

// The first of `names` (empty: all known ones) that is installed and can run the program. Errors: usage for
// an unknown name; missing_tool if none works, with a reason for each.
Result<Found> choose_runtime(const std::vector<std::string>& names, const Program& program);

} // namespace xaas::run
