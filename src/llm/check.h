// Which points of an answer hold, against the tree and the findings.
#pragma once

#include "tree_lines.h"

#include <xaas/llm/suggest.h>

#include <set>

namespace xaas::llm {

// A point of which everything was checked that can be checked without knowing the other points.
struct CheckedPoint {
  spec::SpecializationPoint point;
  std::set<std::string> options; // that its arguments set
  std::string reason;
  std::vector<discover::Place> evidence;
};

// `document` fits the schema. What does not hold goes to `rejected`.
std::vector<CheckedPoint> check(const Json& document, const discover::Findings& findings, TreeLines& tree,
                                std::vector<Rejection>& rejected);

} // namespace xaas::llm
