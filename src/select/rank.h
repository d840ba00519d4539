// How one point ranks its values on a system.
#pragma once

#include <xaas/select/select.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::select {

struct RankedValue {
  std::string value;
  std::string reason;   // to choose it
  std::string standing; // beside a value that ranks below: "which is preferred on znver1"
};

struct RankedPoint {
  const spec::SpecializationPoint* point = nullptr;
  std::vector<RankedValue> values;                // those that may be chosen, best first
  std::map<std::string, std::string> against;     // of the other values: why not
  std::map<std::string, std::vector<Need>> needs; // of every value

  std::optional<size_t> rank(const std::string& value) const; // index into `values`, or nothing
  bool possible(const std::string& value) const;              // the system has what it needs
};

RankedPoint ranked(const spec::SpecializationPoint& point, const system::SystemDescription& system,
                   const std::map<std::string, std::string>& brought);

// Leaves `value`, which the system satisfies, as the only one that may be chosen.
void keep_only(RankedPoint& point, const std::string& value);

// What became of every value after `best` was chosen.
std::vector<Outcome> outcomes_of(const std::vector<RankedPoint>& points,
                                 const std::vector<spec::Configuration>& available,
                                 const Selection& selection);

} // namespace xaas::select
