#include "forms.h"

#include <algorithm>

namespace xaas::build {

Forms forms_of(const std::vector<spec::SpecializationPoint>& points,
               const std::vector<spec::Configuration>& configurations) {
  Forms forms;
  for (const spec::Configuration& configuration : configurations) {
    bool from_source = false, weakest = true;
    for (const spec::SpecializationPoint& point : points) {
      const std::string* chosen = configuration.find(point.name);
      const spec::Value* value = chosen ? point.find(*chosen) : nullptr;
      from_source |= value && value->from_source;
      weakest &= point.name != "isa" || value == &point.values.front();
    }
    if (!from_source)
      forms.ir.push_back(configuration);
    else if (weakest)
      forms.source.push_back(configuration);
  }
  return forms;
}

std::vector<spec::Configuration> later_at_other_levels(const std::vector<spec::SpecializationPoint>& points,
                                                       const std::vector<spec::Configuration>& configurations,
                                                       const spec::Configuration& configuration) {
  const auto value = [](const spec::Configuration& of, const std::string& point) {
    const std::string* const chosen = of.find(point);
    return chosen ? *chosen : std::string();
  };
  std::vector<spec::Configuration> found;
  auto each = std::find(configurations.begin(), configurations.end(), configuration);
  for (each += each != configurations.end(); each != configurations.end(); ++each)
    if (each->find("isa") && std::all_of(points.begin(), points.end(), [&](const auto& point) {
          return point.name == "isa" || value(*each, point.name) == value(configuration, point.name);
        }))
      found.push_back(*each);
  return found;
}

std::vector<std::string> ids_of(const std::vector<spec::Configuration>& configurations) {
  std::vector<std::string> ids;
  for (const spec::Configuration& configuration : configurations)
    ids.push_back(configuration.id());
  return ids;
}

} // namespace xaas::build
