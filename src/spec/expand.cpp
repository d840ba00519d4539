// The configurations of specialization points.
#include "schema.h"

#include <xaas/base/text.h>
#include <xaas/spec/application.h>

#include <algorithm>
#include <utility>

namespace xaas::spec {
namespace {

using Assignment = std::map<std::string, std::string>;
using Points = std::vector<SpecializationPoint>;

// The index of the value of each point: the order of configurations.
using Indices = std::vector<size_t>;

const SpecializationPoint* find(const Points& points, const std::string& name) {
  const auto found =
      std::find_if(points.begin(), points.end(), [&](const auto& point) { return point.name == name; });
  return found == points.end() ? nullptr : &*found;
}

Result<void> check_assignment(const Application& application, const Points& points,
                              const Assignment& values) {
  for (const auto& [name, value] : values) {
    const SpecializationPoint* point = find(points, name);
    std::vector<std::string> known;
    if (const SpecializationPoint* const own = find(application.points, name); own && own->follows_isa)
      return make_error(ErrorKind::usage,
                        name + "=" + value + ": point " + name + " follows `isa` and is not chosen",
                        "name the level: isa=LEVEL");
    if (!point) {
      for (const SpecializationPoint& other : points)
        known.push_back(other.name);
      return make_error(ErrorKind::usage,
                        name + "=" + value + ": \"" + name + "\" is not a specialization point",
                        suggestion(name, known));
    }
    if (point->find(value))
      continue;
    for (const Value& other : point->values)
      known.push_back(other.value);
    std::string hint = suggestion(value, known);
    return make_error(ErrorKind::usage,
                      name + "=" + value + ": \"" + value + "\" is not a value of point " + name,
                      hint.empty() ? "its values: " + join(known, ", ") : hint);
  }
  return {};
}

bool matches(const Assignment& wanted, const Configuration& configuration) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const std::string* value = configuration.find(entry.first);
    return value && *value == entry.second;
  });
}

// Why a configuration is not built; empty: it is.
std::string contradiction(const Application& application, const Points& points,
                          const Configuration& configuration) {
  for (const Assignment& excluded : application.exclude)
    if (matches(excluded, configuration))
      return "the spec excludes " + Configuration(excluded).id();
  for (const SpecializationPoint& point : points) {
    const Value* value = point.find(*configuration.find(point.name));
    if (!matches(value->requires_.values, configuration))
      return point.name + "=" + value->value + " requires " + Configuration(value->requires_.values).id();
  }
  return {};
}

Configuration configuration_of(const Points& points, const Indices& indices) {
  Assignment values;
  for (size_t i = 0; i < points.size(); ++i)
    values[points[i].name] = points[i].values[indices[i]].value;
  return Configuration(std::move(values));
}

// The indices of an entry of `configurations`: a missing `isa` takes every level, which all_points() puts
// last; another missing point takes its default, else its first value.
std::vector<Indices> complete(const Points& points, const Assignment& values) {
  std::vector<Indices> all = {{}};
  for (const SpecializationPoint& point : points) {
    const auto given = values.find(point.name);
    if (point.name == "isa" && given == values.end()) {
      all.assign(point.values.size(), all.front());
      for (size_t i = 0; i < all.size(); ++i)
        all[i].push_back(i);
      continue;
    }
    const Value* value = point.find(given != values.end() ? given->second : point.default_);
    for (Indices& indices : all)
      indices.push_back(value ? static_cast<size_t>(value - point.values.data()) : 0);
  }
  return all;
}

// What was left out, each reason once, for the error if nothing is left.
class LeftOut {
public:
  void add(const std::string& reason) {
    if (!reason.empty() && std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
      reasons_.push_back(reason);
  }
  std::string text() const {
    if (reasons_.empty())
      return "";
    constexpr size_t most = 8;
    std::vector<std::string> shown(
        reasons_.begin(), reasons_.begin() + static_cast<std::ptrdiff_t>(std::min(most, reasons_.size())));
    if (reasons_.size() > most)
      shown.push_back("and " + std::to_string(reasons_.size() - most) + " more");
    return ": " + join(shown, "; ");
  }

private:
  std::vector<std::string> reasons_;
};

// Why a value that the spec has is not one of the points of this build.
std::string why_missing(const Application& application, const Points& points, const std::string& name,
                        const std::string& value) {
  const SpecializationPoint* const own = find(application.points, name);
  if (const Value* const declared = own ? own->find(value) : nullptr)
    return name + "=" + value + " requires " + join(declared->requires_.cpu, ", ") +
           ", which another architecture has";
  const SpecializationPoint* const isa = find(points, "isa");
  std::vector<std::string> levels;
  for (const Value& level : isa ? isa->values : std::vector<Value>{})
    levels.push_back(level.value);
  return name + "=" + value + " is not a level of this build" +
         (levels.empty() ? "" : " (" + join(levels, ", ") + ")");
}

Error too_many(const std::string& count, size_t limit) {
  return make_error(ErrorKind::usage,
                    count + " configurations are more than the limit of " + std::to_string(limit),
                    "list the ones to build with --config or `configurations`, or raise the limit with "
                    "--max-configurations");
}

// All combinations, the last point varying fastest.
Result<std::vector<Indices>> combinations(const Points& points, size_t limit) {
  size_t count = 1;
  for (const SpecializationPoint& point : points) {
    if (__builtin_mul_overflow(count, point.values.size(), &count))
      return too_many("more than 2^64", limit);
  }
  if (count > limit)
    return too_many(std::to_string(count), limit);
  std::vector<Indices> all;
  Indices indices(points.size(), 0);
  for (size_t made = 0; made < count; ++made) {
    all.push_back(indices);
    for (size_t i = points.size(); i-- > 0;) {
      if (++indices[i] < points[i].values.size())
        break;
      indices[i] = 0;
    }
  }
  return all;
}

// An error if none of these configurations can be built.
Result<void> check_possible(const Application& application, const Points& points,
                            const std::vector<Indices>& completed) {
  std::string why, id;
  for (const Indices& indices : completed) {
    const Configuration configuration = configuration_of(points, indices);
    why = contradiction(application, points, configuration);
    if (why.empty())
      return {};
    id = configuration.id();
  }
  return make_error(ErrorKind::usage, "configuration " + id + " cannot be built: " + why);
}

// The listed configurations in point order, each once. A configuration of the spec with a value or `isa` that
// this build lacks is left out, because a spec can list those of several architectures.
Result<std::vector<Indices>> named(const Application& application, const Points& points,
                                   const std::vector<Assignment>& chosen, LeftOut& left_out) {
  std::vector<Indices> all;
  for (const Assignment& values : chosen.empty() ? application.configurations : chosen) {
    const auto missing = std::find_if(values.begin(), values.end(), [&](const auto& value) {
      const SpecializationPoint* const point = find(points, value.first);
      return !point || !point->find(value.second);
    });
    if (chosen.empty() && missing != values.end()) {
      left_out.add(why_missing(application, points, missing->first, missing->second));
      continue;
    }
    XAAS_CHECK(check_assignment(application, points, values));
    const std::vector<Indices> completed = complete(points, values);
    if (!chosen.empty())
      XAAS_CHECK(check_possible(application, points, completed));
    all.insert(all.end(), completed.begin(), completed.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

} // namespace

Result<std::vector<Configuration>> expand(const Application& application, const Points& points,
                                          const std::vector<Assignment>& chosen, size_t limit) {
  LeftOut left_out;
  const bool by_name = !chosen.empty() || !application.configurations.empty();
  XAAS_TRY(const std::vector<Indices> all,
           by_name ? named(application, points, chosen, left_out) : combinations(points, limit));
  if (all.size() > limit)
    return too_many(std::to_string(all.size()), limit);
  std::vector<Configuration> configurations;
  for (const Indices& indices : all) {
    Configuration configuration = configuration_of(points, indices);
    const std::string reason = contradiction(application, points, configuration);
    left_out.add(reason);
    if (reason.empty())
      configurations.push_back(std::move(configuration));
  }
  if (configurations.empty())
    return make_error(ErrorKind::usage,
                      application.name + ": no configuration is left to build" + left_out.text());
  return configurations;
}

} // namespace xaas::spec
