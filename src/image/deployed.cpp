#include <xaas/base/text.h>
#include <xaas/image/deployed.h>

namespace xaas::image {

namespace {

// The items of an annotation that is a JSON array; none without the annotation. `read` reads one item.
template <typename Item, typename Read>
Result<std::vector<Item>> read_annotation(const Annotations& annotations, const char* key, const Read& read) {
  std::vector<Item> items;
  const auto found = annotations.find(key);
  if (found == annotations.end())
    return items;
  const std::string where = std::string("annotation ") + key;
  XAAS_TRY(const Json json, parse_json(found->second, where, false, ErrorKind::integrity));
  XAAS_TRY(const std::vector<JsonReader> readers, JsonReader(json, where).items());
  for (const JsonReader& reader : readers) {
    XAAS_TRY(items.emplace_back(), read(reader));
  }
  return items;
}

Result<ChosenNeeds> read_needs(const JsonReader& item) {
  ChosenNeeds needs;
  XAAS_TRY(needs.point, item.string_at("point"));
  XAAS_TRY(needs.value, item.string_at("value"));
  XAAS_TRY(const JsonReader required, item.at("requires"));
  XAAS_TRY(needs.required, spec::parse_requirement(required));
  return needs;
}

Result<PreferredOfHost> read_preferred(const JsonReader& item) {
  PreferredOfHost preferred;
  XAAS_TRY(preferred.what, item.string_at("what"));
  XAAS_TRY(preferred.abi, item.string_or("abi", ""));
  XAAS_TRY(const JsonReader sonames, item.at("sonames"));
  XAAS_TRY(preferred.sonames, sonames.strings());
  std::vector<std::string> names = preferred.sonames;
  names.push_back(preferred.what);
  for (const std::string& name : names)
    if (!spec::is_library_name(name))
      return make_error(ErrorKind::integrity,
                        item.where() + ": \"" + name + "\" is not the name of a library");
  return preferred;
}

Result<GpuCode> read_gpu_code(const JsonReader& item) {
  GpuCode code;
  XAAS_TRY(code.gpu, item.string_at("gpu"));
  XAAS_TRY(code.arch, item.string_at("arch"));
  XAAS_TRY(code.ptx, item.string_or("ptx", ""));
  XAAS_TRY(code.assembler, item.string_or("assembler", ""));
  XAAS_TRY(code.runtime, item.string_or("runtime", ""));
  XAAS_TRY(code.code_object, item.string_or("code_object", ""));
  XAAS_TRY(code.in_file, item.boolean_or("file", false));
  if (code.ptx.empty() + code.assembler.empty() + code.code_object.empty() != 2)
    return make_error(ErrorKind::integrity,
                      item.where() + ": needs exactly one of `ptx`, `assembler` and `code_object`");
  return code;
}

Result<UsedPlugin> read_plugin(const JsonReader& item) {
  UsedPlugin plugin;
  XAAS_TRY(plugin.name, item.string_at("name"));
  XAAS_TRY(plugin.version, item.string_at("version"));
  XAAS_TRY(const std::string digest, item.string_at("digest"));
  XAAS_TRY(plugin.digest, Digest::parse(digest).in(item.where() + "/digest"));
  XAAS_TRY(plugin.for_all, item.boolean_or("for_all", false));
  XAAS_TRY(const JsonReader units, item.at("units"));
  XAAS_TRY(plugin.units, units.size());
  if (item.has("links")) {
    XAAS_TRY(const JsonReader links, item.at("links"));
    XAAS_TRY(plugin.links, links.size());
  }
  XAAS_TRY(plugin.options, item.strings_at("options"));
  XAAS_TRY(const std::string libraries, item.string_or("libraries", ""));
  if (!libraries.empty()) {
    XAAS_TRY(plugin.libraries, Digest::parse(libraries).in(item.where() + "/libraries"));
  }
  return plugin;
}

} // namespace

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
  return read_annotation<ChosenNeeds>(image.manifest().annotations, annotation::needs, read_needs);
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
  return read_annotation<PreferredOfHost>(image.manifest().annotations, annotation::host, read_preferred);
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

Result<std::vector<GpuCode>> gpu_code_of(const Annotations& annotations) {
  return read_annotation<GpuCode>(annotations, annotation::gpu_code, read_gpu_code);
}

std::string units_and_links(uint64_t units, uint64_t links) {
  std::vector<std::string> parts;
  if (units > 0 || links == 0)
    parts.push_back(std::to_string(units) + (units == 1 ? " unit" : " units"));
  if (links > 0)
    parts.push_back(std::to_string(links) + (links == 1 ? " link" : " links"));
  return join(parts, " and ");
}

Json to_json(const std::vector<UsedPlugin>& plugins) {
  Json json = Json::array();
  for (const UsedPlugin& plugin : plugins) {
    json.push_back({{"name", plugin.name},
                    {"version", plugin.version},
                    {"digest", plugin.digest.to_string()},
                    {"for_all", plugin.for_all},
                    {"units", plugin.units},
                    {"links", plugin.links},
                    {"options", plugin.options}});
    if (plugin.libraries)
      json.back()["libraries"] = plugin.libraries->to_string();
  }
  return json;
}

Result<std::vector<UsedPlugin>> plugins_of(const Annotations& annotations) {
  return read_annotation<UsedPlugin>(annotations, annotation::plugins, read_plugin);
}

} // namespace xaas::image
