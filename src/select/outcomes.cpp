// Why each value was chosen or not.
#include "rank.h"

#include <algorithm>

namespace xaas::select {
namespace {

using spec::Configuration;

// The value of another point that `value` requires and that was not chosen; empty: none.
std::string contradiction(const spec::Value& value, const Configuration& chosen) {
  for (const auto& [point, wanted] : value.requires_.values)
    if (const std::string* other = chosen.find(point); other && *other != wanted)
      return "it requires " + point + "=" + wanted + ", and " + point + "=" + *other + " was chosen";
  return {};
}

class Outcomes {
public:
  Outcomes(const std::vector<RankedPoint>& points, const std::vector<Configuration>& available,
           const Selection& selection)
      : points_(points), available_(available), selection_(selection) {}

  std::vector<Outcome> all() const {
    std::vector<Outcome> outcomes;
    for (size_t i = 0; i < points_.size(); ++i)
      for (const spec::Value& value : points_[i].point->values)
        outcomes.push_back(outcome(i, value));
    return outcomes;
  }

private:
  Outcome outcome(size_t index, const spec::Value& value) const {
    const RankedPoint& point = points_[index];
    const std::string& name = point.point->name;
    const std::string& chosen = *selection_.configuration.find(name);
    Outcome result{name,
                   value.value,
                   value.value == chosen,
                   point.possible(value.value),
                   is_built(name, value.value, 0),
                   {},
                   point.needs.at(value.value)};
    if (result.chosen)
      result.reason = selection_.choices[index].reason;
    else if (const auto why = point.against.find(value.value); why != point.against.end())
      result.reason = why->second;
    else if (const size_t best = *point.rank(chosen); *point.rank(value.value) > best)
      result.reason = "ranks below " + name + "=" + chosen + ", " + point.values[best].standing;
    else
      result.reason = not_available(index, value, result.built);
    return result;
  }

  // For a value that ranks above the chosen one: why no configuration with it can be chosen.
  std::string not_available(size_t index, const spec::Value& value, bool built) const {
    if (std::string why = contradiction(value, selection_.configuration); !why.empty())
      return why;
    if (!built)
      return "the image has no configuration with it";
    if (!is_built(points_[index].point->name, value.value, index))
      return "the image has no configuration with it and the values chosen for earlier points";
    return "the configurations with it have other values that cannot be chosen";
  }

  // True if a configuration has this value, and the chosen values of the first `before` points.
  bool is_built(const std::string& name, const std::string& value, size_t before) const {
    return std::any_of(available_.begin(), available_.end(), [&](const Configuration& configuration) {
      for (size_t i = 0; i < before; ++i)
        if (const std::string& point = points_[i].point->name;
            *configuration.find(point) != *selection_.configuration.find(point))
          return false;
      return *configuration.find(name) == value;
    });
  }

  const std::vector<RankedPoint>& points_;
  const std::vector<Configuration>& available_;
  const Selection& selection_;
};

} // namespace

std::vector<Outcome> outcomes_of(const std::vector<RankedPoint>& points,
                                 const std::vector<Configuration>& available, const Selection& selection) {
  return Outcomes(points, available, selection).all();
}

} // namespace xaas::select
