// The order of preference of a point's values on a system.
#pragma once

#include <xaas/select/select.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::select {

struct RankedValue {
  std::string value;
  std::string reason;   // why it is chosen
  std::string standing; // why a value ranks below it: "which is preferred on znver1"
};

struct RankedPoint {
  const spec::SpecializationPoint* point = nullptr;
  std::vector<RankedValue> values;                // the possible choices, best first
  std::map<std::string, std::string> against;     // the reason against each other value
  std::map<std::string, std::vector<Need>> needs; // for every value

  std::optional<size_t> rank(const std::string& value) const; // index into `values`; nullopt: not a choice
  bool possible(const std::string& value) const;              // the system meets its needs
};

RankedPoint ranked(const spec::SpecializationPoint& point, const system::SystemDescription& system,
                   const std::map<std::string, std::string>& brought);

// Makes `value`, which the system satisfies, the only possible choice.
void keep_only(RankedPoint& point, const std::string& value);

// The result for every value, given the selection.
std::vector<Outcome> outcomes_of(const std::vector<RankedPoint>& points,
                                 const std::vector<spec::Configuration>& available,
                                 const Selection& selection);

} // namespace xaas::select
