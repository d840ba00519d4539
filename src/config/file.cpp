// One settings file: its trust, its unknown keys, its schema, its values.
#include "values.h"

#include <xaas/base/text.h>
#include <xaas/base/trust.h>
#include <xaas/spec/validate.h>

#include <algorithm>
#include <sys/stat.h>

namespace xaas::config {

namespace {

constexpr uint64_t file_limit = uint64_t(1) << 20;

// A project's file can only ask for less, so it suffices to trust its owner, not everyone who can replace it.
Result<void> check_owner(const File& file, const std::vector<uid_t>& owners) {
  XAAS_CHECK(check_trusted(file.path, owners));
  return file.origin == Origin::project ? Result<void>() : check_trusted_place(file.path, owners);
}

Error wrong(const File& file, const std::string& key, const std::string& what, std::string hint = {}) {
  return make_error(ErrorKind::usage, file.path.string() + ": /" + key + ": " + what, std::move(hint));
}

// Refuses settings that untrusted sources must not change.
Result<void> check_harmless(const File& file, const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (key != "jobs" && key != "offline")
      return wrong(
          file, key, "the file of a project cannot set this",
          "it may come with untrusted sources, so it can only set `jobs` and `offline`: true; other settings "
          "belong in ~/.config/xaas/config.json");
    if (value == false)
      return wrong(file, key, "the file of a project cannot switch this off");
  }
  return {};
}

// Removes the keys of an object that are not `known`, with a warning for each. `place` is the object's JSON
// pointer.
void remove_unknown(Json& object, const std::vector<std::string>& known, const std::string& place,
                    File& file) {
  constexpr size_t longest = 60;
  std::vector<std::string> unknown;
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      unknown.push_back(key);
  for (const std::string& key : unknown) {
    object.erase(key);
    const std::string shown = key.size() > longest ? key.substr(0, longest) + "..." : key;
    const std::string near = nearest(shown, known);
    file.warnings.push_back(file.path.string() + ": " + place + "/" + shown + ": unknown key \"" + shown +
                            "\"" + (near.empty() ? "" : "; did you mean `" + near + "`?"));
  }
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items())
    keys.push_back(key);
  return keys;
}

// The schema says which keys are known.
void remove_unknown(Json& json, File& file) {
  if (!json.is_object())
    return;
  const Json settings = Json::parse(config_schema())["properties"];
  remove_unknown(json, keys_of(settings), "", file);
  if (!json.contains("registries") || !json["registries"].is_object())
    return;
  const Json& registry_schema = *settings["registries"]["patternProperties"].begin();
  for (auto& [host, registry] : json["registries"].items())
    if (registry.is_object())
      remove_unknown(registry, keys_of(registry_schema["properties"]), "/registries/" + host, file);
}

} // namespace

Result<void> Settings::read_file(File file, const Sources& sources) {
  std::error_code code;
  if (file.path.empty())
    return {};
  if (!fs::exists(file.path, code)) {
    files_.push_back(std::move(file));
    return {};
  }
  if (Result<void> trusted = check_owner(file, sources.owners); !trusted) {
    if (file.origin != Origin::project)
      return std::move(trusted).error().in("configuration");
    file.trouble = trusted.error().message;
  } else {
    XAAS_CHECK(use(file, sources));
    file.used = true;
  }
  files_.push_back(std::move(file));
  return {};
}

Result<void> Settings::use(File& file, const Sources& sources) {
  XAAS_TRY(const std::string text, xaas::read_file(file.path, file_limit).in("configuration"));
  XAAS_TRY(Json json, parse_json(text, file.path.string(), true));
  remove_unknown(json, file);
  XAAS_CHECK(spec::validate(json, config_schema(), file.path.string()));
  return apply(json, file, sources);
}

Result<void> Settings::apply(const Json& json, const File& file, const Sources& sources) {
  if (file.origin == Origin::project)
    XAAS_CHECK(check_harmless(file, json));
  for (const Definition& definition : definitions()) {
    if (!json.contains(definition.key))
      continue;
    const std::string where = file.path.string() + ": /" + definition.key;
    Json value = json[definition.key];
    Setting& setting = find(definition.key);
    if (value.is_null())
      value = built_in_value(definition, sources.environment);
    else if (definition.type == Type::size) {
      XAAS_TRY(value, parse_value(definition, value.get<std::string>(), where + ": "));
    } else if (definition.type == Type::path) {
      XAAS_TRY(value, expand(value.get<std::string>(), sources.environment, where));
    } else if (definition.type == Type::paths) {
      Json paths = Json::array();
      for (size_t i = 0; i < value.size(); ++i) {
        // PATH[:REST]. A machine that lacks the variable lacks the path.
        const std::string text = value[i].get<std::string>();
        const std::string path = text.substr(0, text.find(':'));
        if (!variables_are_set(path, sources.environment))
          continue;
        XAAS_TRY(const std::string expanded,
                 expand(path, sources.environment, where + "/" + std::to_string(i)));
        paths.push_back(expanded + text.substr(path.size()));
      }
      value = std::move(paths);
    }
    if (file.origin == Origin::project && setting.value.is_number() && value.is_number() &&
        setting.value <= value)
      continue; // it asks for more
    setting = {definition.key, std::move(value), file.origin, file.path.string()};
  }
  return json.contains("registries") ? apply_registries(json["registries"], file, sources) : Result<void>();
}

Result<void> Settings::apply_registries(const Json& json, const File& file, const Sources& sources) {
  for (const auto& [host, says] : json.items()) {
    Registry& registry = registries_[host];
    for (const auto& [name, value] : says.items()) {
      const std::string key = "registries." + host + "." + name;
      Json used = value;
      if (name == "tls_verify") {
        registry.tls_verify = value.is_null() ? std::nullopt : std::optional(value.get<bool>());
      } else if (value.is_null()) {
        registry.cert_dir.clear();
      } else {
        XAAS_TRY(registry.cert_dir, expand(value.get<std::string>(), sources.environment,
                                           file.path.string() + ": /registries/" + host + "/" + name));
        used = registry.cert_dir;
      }
      std::erase_if(registry_rows_, [&key](const Setting& row) { return row.key == key; });
      registry_rows_.push_back({key, std::move(used), file.origin, file.path.string()});
    }
  }
  std::sort(registry_rows_.begin(), registry_rows_.end(),
            [](const Setting& a, const Setting& b) { return a.key < b.key; });
  return {};
}

} // namespace xaas::config
