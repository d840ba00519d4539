#include <xaas/image/deployed.h>

namespace xaas::image {

std::vector<ChosenNeeds> needs_of(const Bundle& bundle, const spec::Configuration& configuration) {
  std::vector<ChosenNeeds> needs;
  for (const spec::SpecializationPoint& point : bundle.points) {
    const std::string* chosen = configuration.find(point.name);
    const spec::Value* value = chosen ? point.find(*chosen) : nullptr;
    if (!value)
      continue;
    ChosenNeeds each{point.name, value->value, value->requires_};
    each.required.cpu.clear();
    each.required.values.clear();
    if (!each.required.empty())
      needs.push_back(std::move(each));
  }
  return needs;
}

std::string to_annotation(const std::vector<ChosenNeeds>& needs) {
  Json json = Json::array();
  for (const ChosenNeeds& each : needs)
    json.push_back(
        {{"point", each.point}, {"value", each.value}, {"requires", spec::to_json(each.required)}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<ChosenNeeds>> needs_of(const oci::Image& image) {
  std::vector<ChosenNeeds> needs;
  const auto found = image.manifest().annotations.find(annotation::needs);
  if (found == image.manifest().annotations.end())
    return needs;
  const std::string where = std::string("annotation ") + annotation::needs;
  XAAS_TRY(const Json json, parse_json(found->second, where, false, ErrorKind::integrity));
  XAAS_TRY(const std::vector<JsonReader> items, JsonReader(json, where).items());
  for (const JsonReader& item : items) {
    ChosenNeeds each;
    XAAS_TRY(each.point, item.string_at("point"));
    XAAS_TRY(each.value, item.string_at("value"));
    XAAS_TRY(const JsonReader required, item.at("requires"));
    XAAS_TRY(each.required, spec::parse_requirement(required));
    needs.push_back(std::move(each));
  }
  return needs;
}

} // namespace xaas::image
