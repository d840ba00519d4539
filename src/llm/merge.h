// Adds checked points to what discovery found.
#pragma once

#include "check.h"

namespace xaas::llm {

// Points that were read stay as they are; values are added to them before the others, which makes them the
// weakest: the choice of a machine is not taken from them. A point that sets an option of another point, or
// has its name, is rejected. Fills `discovery`, `accepted`, `rejected` of the suggestions.
void merge(std::vector<CheckedPoint> points, const discover::Findings& findings, Suggestions& suggestions);

} // namespace xaas::llm
