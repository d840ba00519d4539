#include "inspect_tree.h"

#include <xaas/discover/discover.h>

namespace xaas::cli {

namespace {

Json to_json(const discover::Place& place) {
  return Json{{"file", place.file}, {"line", place.line}};
}

} // namespace

std::optional<spec::BuildSystem> build_system_of(const std::string& name) {
  for (const auto system : {spec::BuildSystem::cmake, spec::BuildSystem::meson, spec::BuildSystem::autotools,
                            spec::BuildSystem::make})
    if (spec::to_string(system) == name)
      return system;
  return std::nullopt;
}

Result<TreeDescription> describe_tree(const std::string& directory, const std::string& system,
                                      const std::optional<llm::Options>& model) {
  XAAS_TRY(const discover::Findings findings, discover::read_tree(directory, build_system_of(system)));
  discover::Discovery discovery = discover::classify(findings);
  TreeDescription description;
  if (model) {
    XAAS_TRY(description.suggestions, llm::suggest(directory, findings, discovery, *model));
    discovery = description.suggestions->discovery;
  }
  Json points = Json::array(), options = Json::array(), packages = Json::array(), signs = Json::array();
  for (const discover::DiscoveredPoint& found : discovery.points) {
    Json point = spec::to_json(found.point);
    point["option"] = found.option;
    point["evidence"] = Json::array();
    for (const discover::Place& place : found.evidence)
      point["evidence"].push_back(to_json(place));
    points.push_back(std::move(point));
  }
  for (const discover::Option& option : findings.options)
    options.push_back(Json{{"name", option.name},
                           {"help", option.help},
                           {"default", option.initial ? Json(*option.initial) : Json()},
                           {"values", option.values},
                           {"conditions", option.conditions},
                           {"advanced", option.internal},
                           {"evidence", Json::array({to_json(option.place)})}});
  for (const discover::Package& package : findings.packages)
    packages.push_back(Json{{"name", package.name},
                            {"version", package.version.empty() ? Json() : Json(package.version)},
                            {"required", package.required},
                            {"conditions", package.conditions},
                            {"evidence", Json::array({to_json(package.place)})}});
  for (const discover::Sign& sign : findings.signs)
    signs.push_back(
        Json{{"name", sign.name}, {"files", sign.files}, {"evidence", Json::array({to_json(sign.place)})}});
  if (description.suggestions)
    llm::mark(points, *description.suggestions);
  description.notes = findings.notes;
  description.json =
      Json{{"version", 1},
           {"kind", "source-tree"},
           {"name", findings.name},
           {"build",
            {{"system", findings.system ? Json(spec::to_string(*findings.system)) : Json()},
             {"minimum_version", findings.minimum_version.empty() ? Json() : Json(findings.minimum_version)},
             {"languages", findings.languages}}},
           {"specializations", points},
           {"options", options},
           {"packages", packages},
           {"sources", signs},
           {"notes", findings.notes}};
  if (description.suggestions)
    description.json["llm"] = llm::to_json(*description.suggestions);
  return description;
}

Result<TreeDescription> describe_tree_for_paper(const std::string& directory, const std::string& system,
                                                const std::optional<llm::Options>& model) {
  XAAS_TRY(const discover::Findings findings, discover::read_tree(directory, build_system_of(system)));
  const discover::Discovery discovery = discover::classify(findings);
  TreeDescription description;
  if (model) {
    XAAS_TRY(description.suggestions, llm::suggest(directory, findings, discovery, *model));
  }
  description.json = discover::paper_document(
      findings, description.suggestions ? description.suggestions->discovery : discovery);
  return description;
}

} // namespace xaas::cli
