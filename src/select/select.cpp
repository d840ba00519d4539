// Each point ranks its values for this system, best first. Values that the system does not satisfy have no
// rank; neither do the others of a point whose value the user set. Among the configurations whose values all
// have ranks, the one with the lexicographically smallest ranks in point order wins. Deciding point by point
// would fail where the best value of one point was not built together with the best value of another.
#include "rank.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace xaas::select {
namespace {

using spec::Configuration;
using spec::SpecializationPoint;
using system::SystemDescription;

std::string suggested(const std::string& word, const std::vector<std::string>& known,
                      const std::string& what) {
  const std::string near = nearest(word, known);
  if (!near.empty())
    return "did you mean `" + near + "`?";
  return known.empty() ? "" : what + join(known, ", ");
}

class Selector {
public:
  Selector(const std::vector<SpecializationPoint>& points, const std::vector<Configuration>& available,
           const SystemDescription& system, const std::map<std::string, std::string>& brought)
      : available_(available), system_(system) {
    for (const SpecializationPoint& point : points)
      points_.push_back(ranked(point, system, brought));
  }

  Result<Selection> run(const std::map<std::string, std::string>& set) const {
    XAAS_CHECK(check_available());
    XAAS_CHECK(check_set(set));
    std::vector<RankedPoint> points = points_;
    for (RankedPoint& point : points)
      if (const auto given = set.find(point.point->name); given != set.end()) {
        if (const auto why = point.against.find(given->second); why != point.against.end())
          return not_satisfied(set, point.point->name, why->second);
        keep_only(point, given->second);
      }
    const Configuration* best = best_of(points);
    if (!best)
      return nothing_fits(points, set);
    return selection(points, *best);
  }

private:
  static std::optional<std::vector<size_t>> ranks_of(const std::vector<RankedPoint>& points,
                                                     const Configuration& configuration) {
    std::vector<size_t> ranks;
    for (const RankedPoint& point : points) {
      const auto rank = point.rank(*configuration.find(point.point->name));
      if (!rank)
        return std::nullopt;
      ranks.push_back(*rank);
    }
    return ranks;
  }

  const Configuration* best_of(const std::vector<RankedPoint>& points) const {
    const Configuration* best = nullptr;
    std::vector<size_t> best_ranks;
    for (const Configuration& configuration : available_)
      if (const auto ranks = ranks_of(points, configuration); ranks && (!best || *ranks < best_ranks)) {
        best = &configuration;
        best_ranks = *ranks;
      }
    return best;
  }

  // The available configurations come from an untrusted image: check that they have these points and values.
  Result<void> check_available() const {
    if (available_.empty())
      return make_error(ErrorKind::unsatisfied, "the image has no configuration");
    for (const Configuration& configuration : available_) {
      for (const RankedPoint& point : points_) {
        const std::string* value = configuration.find(point.point->name);
        if (!value || !point.point->find(*value))
          return make_error(ErrorKind::integrity, "configuration " + configuration.id() +
                                                      " has no known value of point " + point.point->name);
      }
      if (configuration.values().size() != points_.size())
        return make_error(ErrorKind::integrity,
                          "configuration " + configuration.id() + " has a value of an unknown point");
    }
    return {};
  }

  Result<void> check_set(const std::map<std::string, std::string>& set) const {
    for (const auto& [name, value] : set) {
      std::vector<std::string> names, values;
      const SpecializationPoint* found = nullptr;
      for (const RankedPoint& point : points_) {
        names.push_back(point.point->name);
        if (point.point->name == name)
          found = point.point;
      }
      if (!found)
        return make_error(ErrorKind::usage,
                          name + "=" + value + ": \"" + name + "\" is not a specialization point",
                          name == "gpu" ? "--gpu " + value + " chooses the GPUs to generate device code for"
                                        : suggested(name, names, "its points: "));
      if (found->find(value))
        continue;
      for (const spec::Value& known : found->values)
        values.push_back(known.value);
      return make_error(ErrorKind::usage,
                        name + "=" + value + ": \"" + value + "\" is not a value of point " + name,
                        suggested(value, values, "its values: "));
    }
    return {};
  }

  // The error for a value that the user set and the system does not satisfy. The hint has the alternative.
  Error not_satisfied(const std::map<std::string, std::string>& set, const std::string& name,
                      const std::string& why) const {
    std::string hint = "leave the choice to xaas";
    auto others = set;
    others.erase(name);
    if (const auto instead = run(others))
      hint = "`--set " + name + "=" + *instead->configuration.find(name) + "`, or " + hint;
    return make_error(ErrorKind::unsatisfied, "configuration " + name + "=" + set.at(name) + ": " + why,
                      hint);
  }

  Error nothing_fits(const std::vector<RankedPoint>& points,
                     const std::map<std::string, std::string>& set) const {
    const bool built =
        std::any_of(available_.begin(), available_.end(), [&](const Configuration& configuration) {
          return std::all_of(set.begin(), set.end(), [&](const auto& entry) {
            return *configuration.find(entry.first) == entry.second;
          });
        });
    std::vector<std::string> lines;
    for (const Configuration& configuration : available_)
      lines.push_back("\n  " + configuration.id() +
                      (built ? ": " + reasons_against(points, configuration) : ""));
    if (!built)
      return make_error(ErrorKind::unsatisfied,
                        "configuration " + Configuration(set).id() +
                            ": the image has no such configuration; it has" + join(lines, ""),
                        "set fewer values, or build this configuration into the image");
    const std::string name = system_.cpu.name.empty() ? system_.arch : system_.cpu.name;
    std::set<std::string> reasons;
    for (const Configuration& configuration : available_)
      reasons.insert(reasons_against(points, configuration));
    if (available_.size() > 1 && reasons.size() == 1)
      return make_error(ErrorKind::unsatisfied,
                        "no configuration of the image fits this system (" + name + "): " + *reasons.begin(),
                        not_built(points));
    return make_error(ErrorKind::unsatisfied,
                      "no configuration of the image fits this system (" + name + "):" + join(lines, ""),
                      not_built(points));
  }

  // The hint for a point whose values for this system exist but were not built; empty: there is none.
  std::string not_built(const std::vector<RankedPoint>& points) const {
    for (const RankedPoint& point : points) {
      const std::string& name = point.point->name;
      const bool has_one = std::any_of(available_.begin(), available_.end(), [&](const Configuration& each) {
        return point.rank(*each.find(name)).has_value();
      });
      if (!has_one && !point.values.empty())
        return name + "=" + point.values[0].value +
               " would fit, but the image was built without it (`xaas build --config " + name + "=" +
               point.values[0].value + "`)";
    }
    return {};
  }

  // Why a configuration cannot be chosen; empty: it can.
  static std::string reasons_against(const std::vector<RankedPoint>& points,
                                     const Configuration& configuration) {
    std::vector<std::string> reasons;
    for (const RankedPoint& point : points) {
      const std::string& value = *configuration.find(point.point->name);
      if (const auto why = point.against.find(value); why != point.against.end())
        reasons.push_back(point.point->name + "=" + value + ": " + why->second);
    }
    return join(reasons, "; ");
  }

  Selection selection(const std::vector<RankedPoint>& points, const Configuration& best) const {
    Selection result;
    result.configuration = best;
    for (const RankedPoint& point : points) {
      const std::string& value = *best.find(point.point->name);
      const size_t rank = *point.rank(value);
      // With a rank above 0, better values were not built together with the choices of earlier points.
      const std::string reason = rank == 0
                                     ? point.values[0].reason
                                     : "the image has no " + point.point->name + "=" + point.values[0].value +
                                           (result.choices.empty() ? "" : " with the choices above");
      result.choices.push_back({point.point->name, value, reason});
    }
    for (const Configuration& configuration : available_) {
      if (configuration == best)
        continue;
      std::string reason = reasons_against(points, configuration);
      for (const RankedPoint& point : points) {
        const std::string& name = point.point->name;
        const std::string &value = *configuration.find(name), &chosen = *best.find(name);
        if (!reason.empty() || value == chosen)
          continue;
        reason = name + "=" + value + " ranks below " + name + "=" + chosen;
      }
      result.rejected.push_back({configuration.id(), reason});
    }
    result.values = outcomes_of(points, available_, result);
    return result;
  }

  const std::vector<Configuration>& available_;
  const SystemDescription& system_;
  std::vector<RankedPoint> points_;
};

} // namespace

Result<Selection> select(const std::vector<SpecializationPoint>& points,
                         const std::vector<Configuration>& available, const SystemDescription& system,
                         const std::map<std::string, std::string>& set,
                         const std::map<std::string, std::string>& brought) {
  return Selector(points, available, system, brought).run(set);
}

} // namespace xaas::select
