// The conditions of if() and elseif() over values that may be unknown.
//
// Source: cmake-commands(7), if(), "Condition Syntax".
#pragma once

#include "readers/cmake/values.h"

#include <vector>

namespace xaas::discover {

struct Verdict {
  Truth truth = Truth::unknown;
  bool fixed = false; // no option can change it
  bool likely = true; // for an unknown one: "found" is the case that projects expect, and write first
};

Verdict evaluate_condition(const CMakeValues& values, const std::vector<CMakeWord>& words);

} // namespace xaas::discover
