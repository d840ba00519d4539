// One file of settings: who may have written it, whether it fits the schema, what it says.
#include "values.h"

#include <xaas/base/trust.h>
#include <xaas/spec/validate.h>

#include <algorithm>
#include <sys/stat.h>

namespace xaas::config {

namespace {

constexpr uint64_t file_limit = uint64_t(1) << 20;

// A project's file can only ask for less, so nobody minds who can replace it; it is enough who wrote it.
Result<void> check_owner(const File& file, const std::vector<uid_t>& owners) {
  XAAS_CHECK(check_trusted(file.path, owners));
  return file.origin == Origin::project ? Result<void>() : check_trusted_place(file.path, owners);
}

Error wrong(const File& file, const std::string& key, const std::string& what, std::string hint = {}) {
  return make_error(ErrorKind::usage, file.path.string() + ": /" + key + ": " + what, std::move(hint));
}

// May sources of strangers say this?
Result<void> check_harmless(const File& file, const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (key != "jobs" && key != "offline")
      return wrong(
          file, key, "the file of a project cannot set this",
          "it comes with sources of others, so it may only ask for less: `jobs`, and `offline`: true; "
          "the rest belongs into your own configuration (~/.config/xaas/config.json)");
    if (value == false)
      return wrong(file, key, "the file of a project cannot switch this off");
  }
  return {};
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
    files_.push_back(std::move(file));
    return {};
  }
  XAAS_TRY(const std::string text, xaas::read_file(file.path, file_limit).in("configuration"));
  XAAS_TRY(const Json json, parse_json(text, file.path.string(), true));
  XAAS_CHECK(spec::validate(json, config_schema(), file.path.string()));
  XAAS_CHECK(apply(json, file, sources));
  file.used = true;
  files_.push_back(std::move(file));
  return {};
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
