// Adds checked points to the discovered points.
#pragma once

#include "check.h"

namespace xaas::llm {

// Discovered points do not change, except that values are added in front of theirs. The new values are then
// the weakest, so the choice for a machine stays the same. A point that sets an option of another point or
// has its name is rejected. Fills `discovery`, `accepted` and `rejected` of the suggestions.
void merge(std::vector<CheckedPoint> points, const discover::Findings& findings, Suggestions& suggestions);

} // namespace xaas::llm
