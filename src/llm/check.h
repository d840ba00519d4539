// Checks the points of an answer against the tree and the findings.
#pragma once

#include "tree_lines.h"

#include <xaas/llm/suggest.h>

#include <set>

namespace xaas::llm {

// A point that passed every check that does not involve other points.
struct CheckedPoint {
  spec::SpecializationPoint point;
  std::set<std::string> options; // set by its arguments
  std::string reason;
  std::vector<discover::Place> evidence;
};

// `document` fits the schema. `rejected` gets the points and values that fail a check.
std::vector<CheckedPoint> check(const Json& document, const discover::Findings& findings, TreeLines& tree,
                                std::vector<Rejection>& rejected);

} // namespace xaas::llm
