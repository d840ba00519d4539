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

std::string to_annotation(const std::vector<PreferredOfHost>& preferred) {
  Json json = Json::array();
  for (const PreferredOfHost& each : preferred) {
    json.push_back({{"what", each.what}});
    if (!each.abi.empty())
      json.back()["abi"] = each.abi;
    json.back()["sonames"] = each.sonames;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<PreferredOfHost>> preferred_of_host(const oci::Image& image) {
  std::vector<PreferredOfHost> preferred;
  const auto found = image.manifest().annotations.find(annotation::host);
  if (found == image.manifest().annotations.end())
    return preferred;
  const std::string where = std::string("annotation ") + annotation::host;
  XAAS_TRY(const Json json, parse_json(found->second, where, false, ErrorKind::integrity));
  XAAS_TRY(const std::vector<JsonReader> items, JsonReader(json, where).items());
  for (const JsonReader& item : items) {
    PreferredOfHost each;
    XAAS_TRY(each.what, item.string_at("what"));
    XAAS_TRY(each.abi, item.string_or("abi", ""));
    XAAS_TRY(const JsonReader sonames, item.at("sonames"));
    XAAS_TRY(each.sonames, sonames.strings());
    std::vector<std::string> names = each.sonames;
    names.push_back(each.what);
    for (const std::string& name : names)
      if (!spec::is_library_name(name))
        return make_error(ErrorKind::integrity,
                          item.where() + ": \"" + name + "\" is not the name of a library");
    preferred.push_back(std::move(each));
  }
  return preferred;
}

std::string describe(const GpuCode& code) {
  if (!code.code_object.empty())
    return code.gpu + ": code object version " + code.code_object;
  return code.gpu + ": " + (code.arch == code.gpu ? "" : "for " + code.arch + ", ") +
         (code.assembler.empty() ? "PTX " + code.ptx : "machine code by ptxas " + code.assembler) +
         (code.in_file ? ", in files" : "");
}

std::string to_annotation(const std::vector<GpuCode>& code) {
  Json json = Json::array();
  for (const GpuCode& each : code) {
    json.push_back({{"gpu", each.gpu}, {"arch", each.arch}});
    if (!each.code_object.empty())
      json.back()["code_object"] = each.code_object;
    else if (each.assembler.empty())
      json.back()["ptx"] = each.ptx;
    else
      json.back()["assembler"] = each.assembler;
    if (!each.runtime.empty())
      json.back()["runtime"] = each.runtime;
    if (each.in_file)
      json.back()["file"] = true;
  }
  return json.dump();
}

Result<std::vector<GpuCode>> gpu_code_of(const oci::Image& image) {
  std::vector<GpuCode> code;
  const auto found = image.manifest().annotations.find(annotation::gpu_code);
  if (found == image.manifest().annotations.end())
    return code;
  const std::string where = std::string("annotation ") + annotation::gpu_code;
  XAAS_TRY(const Json json, parse_json(found->second, where, false, ErrorKind::integrity));
  XAAS_TRY(const std::vector<JsonReader> items, JsonReader(json, where).items());
  for (const JsonReader& item : items) {
    GpuCode each;
    XAAS_TRY(each.gpu, item.string_at("gpu"));
    XAAS_TRY(each.arch, item.string_at("arch"));
    XAAS_TRY(each.ptx, item.string_or("ptx", ""));
    XAAS_TRY(each.assembler, item.string_or("assembler", ""));
    XAAS_TRY(each.runtime, item.string_or("runtime", ""));
    XAAS_TRY(each.code_object, item.string_or("code_object", ""));
    XAAS_TRY(each.in_file, item.boolean_or("file", false));
    if (each.ptx.empty() + each.assembler.empty() + each.code_object.empty() != 2)
      return make_error(ErrorKind::integrity, item.where() + ": one of `ptx`, `assembler` and `code_object`");
    code.push_back(std::move(each));
  }
  return code;
}

} // namespace xaas::image
