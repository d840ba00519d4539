#include "effects.h"

#include <algorithm>
#include <map>
#include <set>

namespace xaas::build {

std::vector<Warning> points_without_effect(const image::Bundle& bundle) {
  std::vector<Warning> warnings;
  std::map<spec::Configuration, Digest> contents;
  for (const image::BundleConfiguration& each : bundle.configurations)
    contents.emplace(each.configuration, image::content_of(each));
  for (const spec::SpecializationPoint& point : bundle.points) {
    if (point.name == "isa")
      continue;
    // By the values of all other points.
    std::map<std::map<std::string, std::string>, std::vector<Digest>> groups;
    for (const auto& [configuration, content] : contents) {
      std::map<std::string, std::string> others = configuration.values();
      if (others.erase(point.name) > 0)
        groups[others].push_back(content);
    }
    const auto compares = [](const auto& group) { return group.second.size() > 1; };
    const auto differs = [](const auto& group) {
      return std::any_of(group.second.begin(), group.second.end(),
                         [&](const Digest& content) { return content != group.second.front(); });
    };
    if (std::any_of(groups.begin(), groups.end(), compares) &&
        std::none_of(groups.begin(), groups.end(), differs))
      warnings.push_back({"point", "", 0,
                          "`" + point.name +
                              "` chooses nothing: all of its values give the same programs and files; does "
                              "the build use their arguments?"});
  }
  return warnings;
}

} // namespace xaas::build
