#include "inspect_tree.h"

#include <xaas/discover/discover.h>
#include <xaas/spec/argument.h>

#include <algorithm>
#include <set>

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

namespace {

struct Read {
  discover::Findings findings;
  discover::Discovery discovery;
  std::optional<llm::Suggestions> suggestions;
};

Result<Read> read(const std::string& directory, const TreeOptions& options) {
  Read result;
  XAAS_TRY(result.findings, discover::read_tree(directory, build_system_of(options.system)));
  if (options.configure)
    XAAS_CHECK(discover::configure_tree(directory, *options.configure, result.findings));
  result.discovery = discover::classify(result.findings);
  if (options.model) {
    XAAS_TRY(result.suggestions, llm::suggest(directory, result.findings, result.discovery, *options.model));
    result.discovery = result.suggestions->discovery;
  }
  return result;
}

Json to_json(const discover::Option& option, bool configured) {
  Json json = {{"name", option.name},
               {"help", option.help},
               {"default", option.initial ? Json(*option.initial) : Json()},
               {"values", option.values},
               {"conditions", option.conditions},
               {"advanced", option.internal},
               {"guessed", option.guessed},
               {"required", option.required}};
  if (configured)
    json["configured"] = option.configured ? Json(*option.configured) : Json();
  json["evidence"] = Json::array({to_json(option.place)});
  return json;
}

Json to_json(const discover::DiscoveredPoint& found) {
  Json point = spec::to_json(found.point);
  point["option"] = found.option;
  point["evidence"] = Json::array();
  for (const discover::Place& place : found.evidence)
    point["evidence"].push_back(to_json(place));
  return point;
}

// The options that arguments set.
std::set<std::string> options_of(spec::BuildSystem system, const std::vector<std::string>& arguments) {
  std::set<std::string> options;
  for (const std::string& text : arguments)
    if (const std::optional<spec::Argument> argument = spec::parse_argument(system, text))
      options.insert(argument->option);
  return options;
}

// What of a spec sets one of the options of a discovered point: a point, "build.arguments", or null.
Json user_of(const discover::DiscoveredPoint& found, const spec::Application& application) {
  const spec::BuildSystem system = application.build.system;
  std::set<std::string> own;
  for (const spec::Value& value : found.point.values)
    own.merge(options_of(system, value.arguments));
  const auto sets_one = [&](const std::vector<std::string>& arguments) {
    const std::set<std::string> options = options_of(system, arguments);
    return std::any_of(options.begin(), options.end(),
                       [&](const std::string& option) { return own.contains(option); });
  };
  for (const spec::SpecializationPoint& point : application.points)
    for (const spec::Value& value : point.values)
      if (sets_one(value.arguments))
        return point.name;
  return sets_one(application.build.arguments) ? Json("build.arguments") : Json();
}

Json build_json(const discover::Findings& findings) {
  Json json = {
      {"system", findings.system ? Json(spec::to_string(*findings.system)) : Json()},
      {"minimum_version", findings.minimum_version.empty() ? Json() : Json(findings.minimum_version)},
      {"languages", findings.languages}};
  if (findings.products) {
    json["programs"] = findings.products->programs;
    json["libraries"] = findings.products->libraries;
    json["installs"] = findings.products->has_install;
  }
  return json;
}

} // namespace

Result<TreeDescription> describe_tree(const std::string& directory, const TreeOptions& tree_options) {
  XAAS_TRY(Read tree, read(directory, tree_options));
  const discover::Findings& findings = tree.findings;
  Json points = Json::array(), options = Json::array(), packages = Json::array(), signs = Json::array(),
       presets = Json::array(), flags = Json::array();
  for (const discover::DiscoveredPoint& found : tree.discovery.points) {
    Json point = to_json(found);
    points.push_back(std::move(point));
  }
  for (const discover::Option& option : findings.options)
    options.push_back(to_json(option, findings.configured.has_value()));
  for (const discover::Package& package : findings.packages)
    packages.push_back(Json{{"name", package.name},
                            {"version", package.version.empty() ? Json() : Json(package.version)},
                            {"required", package.required},
                            {"conditions", package.conditions},
                            {"evidence", Json::array({to_json(package.place)})}});
  for (const discover::Sign& sign : findings.signs)
    signs.push_back(
        Json{{"name", sign.name}, {"files", sign.files}, {"evidence", Json::array({to_json(sign.place)})}});
  for (const discover::Preset& preset : findings.presets)
    presets.push_back(Json{{"name", preset.name},
                           {"description", preset.description},
                           {"variables", preset.variables},
                           {"evidence", Json::array({to_json(preset.place)})}});
  for (const auto& [flag, place] : findings.flags)
    flags.push_back(Json{{"flag", flag}, {"evidence", Json::array({to_json(place)})}});
  TreeDescription description;
  description.suggestions = std::move(tree.suggestions);
  if (description.suggestions)
    llm::mark(points, *description.suggestions);
  description.notes = findings.notes;
  description.json = Json{{"version", 1},
                          {"kind", "source-tree"},
                          {"name", findings.name},
                          {"build", build_json(findings)},
                          {"specializations", points},
                          {"options", options},
                          {"packages", packages},
                          {"presets", presets},
                          {"compiler_flags", flags},
                          {"sources", signs},
                          {"notes", findings.notes}};
  if (findings.configured)
    description.json["configure"] = Json{{"confirmed", findings.configured->confirmed},
                                         {"added", findings.configured->added},
                                         {"not_reached", findings.configured->not_reached},
                                         {"seconds", findings.configured->seconds}};
  if (description.suggestions)
    description.json["llm"] = llm::to_json(*description.suggestions);
  return description;
}

Result<Json> discovered_points(const std::string& directory, const spec::Application& application) {
  // A tree may have several build systems, or none that is known, if the spec has commands.
  Result<discover::Findings> findings = discover::read_tree(directory, application.build.system);
  if (!findings && findings.error().kind == ErrorKind::not_found)
    findings = discover::read_tree(directory);
  if (!findings)
    return std::move(findings).error();
  Json points = Json::array();
  for (const discover::DiscoveredPoint& found : discover::classify(*findings).points) {
    points.push_back(to_json(found));
    points.back()["used_by"] = user_of(found, application);
  }
  return points;
}

Result<TreeDescription> describe_tree_for_paper(const std::string& directory, const TreeOptions& options) {
  XAAS_TRY(Read tree, read(directory, options));
  TreeDescription description;
  description.notes = tree.findings.notes;
  description.json = discover::paper_document(tree.findings, tree.discovery);
  description.suggestions = std::move(tree.suggestions);
  return description;
}

} // namespace xaas::cli
