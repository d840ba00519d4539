#include <xaas/ir/unit.h>
#include <xaas/target/gpu.h>

namespace xaas::ir {

namespace {

template <typename Value> Json map_json(const std::map<std::string, Value>& map) {
  Json json = Json::object();
  for (const auto& [name, value] : map)
    json[name] = value;
  return json;
}

Result<std::map<std::string, int64_t>> integers(const JsonReader& reader, const std::string& key) {
  XAAS_TRY(const JsonReader object, reader.at(key));
  XAAS_TRY(const auto members, object.members());
  std::map<std::string, int64_t> values;
  for (const auto& [name, value] : members) {
    XAAS_TRY(values[name], value.integer());
  }
  return values;
}

Result<MachineFlags> parse_machine(const JsonReader& reader) {
  XAAS_CHECK(reader.only({"cpu", "tune", "features"}));
  MachineFlags flags;
  XAAS_TRY(flags.cpu, reader.string_at("cpu"));
  XAAS_TRY(flags.tune, reader.string_at("tune"));
  XAAS_TRY(const JsonReader features, reader.at("features"));
  XAAS_TRY(flags.features, features.strings());
  for (const std::string& feature : flags.features)
    if (feature.size() < 2 || (feature[0] != '+' && feature[0] != '-'))
      return make_error(ErrorKind::integrity,
                        features.where() + ": '" + feature + "' is not a signed feature");
  return flags;
}

Result<void> parse_offload(const JsonReader& reader, Unit& unit) {
  if (reader.has("offload")) {
    XAAS_TRY(unit.offload, reader.string_at("offload"));
    if (unit.offload != "cuda" && unit.offload != "hip" && unit.offload != "openmp")
      return make_error(ErrorKind::integrity, reader.where() + "/offload: \"" + unit.offload +
                                                  "\" is not a way to link device code");
    if (unit.device.empty())
      return make_error(ErrorKind::integrity, reader.where() + "/offload: the unit has no device code");
  }
  for (const auto& [arch, id] : unit.device) {
    const bool other = (unit.offload == "cuda" && !arch.starts_with("sm_")) ||
                       (unit.offload == "hip" && !arch.starts_with("gfx"));
    if (other && arch != host_device)
      return make_error(ErrorKind::integrity,
                        reader.where() + "/offload: \"" + unit.offload + "\" is not for " + arch);
  }
  if (unit.device.count(host_device) && unit.offload != "openmp")
    return make_error(ErrorKind::integrity, reader.where() + "/device: only OpenMP has the host as a device");
  return {};
}

Result<AskedPlugin> parse_plugin(const JsonReader& reader) {
  XAAS_CHECK(reader.only({"name", "version", "digest", "options"}));
  AskedPlugin plugin;
  XAAS_TRY(plugin.name, reader.string_at("name"));
  XAAS_TRY(plugin.version, reader.string_at("version"));
  XAAS_TRY(const std::string digest, reader.string_at("digest"));
  XAAS_TRY(plugin.digest, Digest::parse(digest).in(reader.where() + "/digest"));
  XAAS_TRY(plugin.options, reader.strings_at("options"));
  return plugin;
}

} // namespace

Json to_json(const std::vector<AskedPlugin>& plugins) {
  Json json = Json::array();
  for (const AskedPlugin& plugin : plugins)
    json.push_back({{"name", plugin.name},
                    {"version", plugin.version},
                    {"digest", plugin.digest.to_string()},
                    {"options", plugin.options}});
  return json;
}

Result<std::vector<AskedPlugin>> parse_asked_plugins(const JsonReader& reader) {
  std::vector<AskedPlugin> plugins;
  const auto list = reader.find("plugins");
  if (!list)
    return plugins;
  XAAS_TRY(const std::vector<JsonReader> items, list->items());
  for (const JsonReader& item : items) {
    XAAS_TRY(plugins.emplace_back(), parse_plugin(item));
  }
  return plugins;
}

Json to_json(const MachineFlags& flags) {
  return Json{{"cpu", flags.cpu}, {"tune", flags.tune}, {"features", flags.features}};
}

Json to_json(const UnitOptions& options) {
  Json json{{"codegen", map_json(options.codegen)},
            {"language", map_json(options.language)},
            {"text", map_json(options.text)},
            {"lists", map_json(options.lists)}};
  if (!options.gpu.empty())
    json["gpu"] = map_json(options.gpu);
  return json;
}

Json to_json(const Unit& unit) {
  Json json{{"source", unit.source},
            {"module", unit.module.to_string()},
            {"options", unit.options.to_string()},
            {"machine", to_json(unit.machine)}};
  for (const Digest& library : unit.libraries)
    json["libraries"].push_back(library.to_string());
  for (const auto& [arch, id] : unit.device)
    json["device"][arch] = id.to_string();
  if (!unit.offload.empty())
    json["offload"] = unit.offload;
  if (unit.unoptimized) // absent otherwise, so that it changes no other unit's id
    json["unoptimized"] = true;
  if (!unit.plugins.empty())
    json["plugins"] = to_json(unit.plugins);
  if (unit.profile)
    json["profile"] = unit.profile->to_string();
  return json;
}

Digest UnitOptions::digest() const {
  return digest_of(to_json(*this).dump());
}
Digest Unit::id() const {
  return digest_of(to_json(*this).dump());
}

Result<UnitOptions> parse_unit_options(const JsonReader& reader) {
  XAAS_CHECK(reader.only({"codegen", "language", "text", "lists", "gpu"}));
  UnitOptions options;
  XAAS_TRY(options.codegen, integers(reader, "codegen"));
  XAAS_TRY(options.language, integers(reader, "language"));
  if (reader.has("gpu")) {
    XAAS_TRY(options.gpu, integers(reader, "gpu"));
  }
  XAAS_TRY(const JsonReader text, reader.at("text"));
  XAAS_TRY(const JsonReader lists, reader.at("lists"));
  XAAS_TRY(options.text, text.string_map());
  XAAS_TRY(const auto members, lists.members());
  for (const auto& [name, value] : members) {
    XAAS_TRY(options.lists[name], value.strings());
  }
  return options;
}

Result<Unit> parse_unit(const JsonReader& reader) {
  XAAS_CHECK(reader.only({"source", "module", "options", "machine", "libraries", "device", "offload",
                          "unoptimized", "plugins", "profile"}));
  Unit unit;
  XAAS_TRY(unit.source, reader.string_at("source"));
  XAAS_TRY(const std::string module, reader.string_at("module"));
  XAAS_TRY(unit.module, Digest::parse(module).in(reader.where() + "/module"));
  XAAS_TRY(const std::string options, reader.string_at("options"));
  XAAS_TRY(unit.options, Digest::parse(options).in(reader.where() + "/options"));
  XAAS_TRY(const JsonReader machine, reader.at("machine"));
  XAAS_TRY(unit.machine, parse_machine(machine));
  if (reader.has("libraries")) {
    XAAS_TRY(const JsonReader libraries, reader.at("libraries"));
    XAAS_TRY(const std::vector<std::string> digests, libraries.strings());
    for (const std::string& digest : digests) {
      XAAS_TRY(unit.libraries.emplace_back(), Digest::parse(digest).in(libraries.where()));
    }
  }
  if (reader.has("device")) {
    XAAS_TRY(const JsonReader device, reader.at("device"));
    if (!device.json().is_object())
      return device.wrong("an object");
    for (const auto& [arch, id] : device.json().items()) {
      if (arch != host_device && !target::parse_gpu_arch(arch))
        return make_error(ErrorKind::integrity,
                          device.where() + ": \"" + arch + "\" is not a GPU architecture");
      XAAS_TRY(const std::string digest, device.string_at(arch));
      XAAS_TRY(unit.device[arch], Digest::parse(digest).in(device.where() + "/" + arch));
    }
  }
  XAAS_CHECK(parse_offload(reader, unit));
  XAAS_TRY(unit.unoptimized, reader.boolean_or("unoptimized", false));
  if (reader.has("profile")) {
    XAAS_TRY(const std::string profile, reader.string_at("profile"));
    XAAS_TRY(unit.profile, Digest::parse(profile).in(reader.where() + "/profile"));
  }
  XAAS_TRY(unit.plugins, parse_asked_plugins(reader));
  return unit;
}

} // namespace xaas::ir
