#include "values.h"

#include <xaas/base/text.h>
#include <xaas/base/trust.h>

#include <algorithm>
#include <cstdlib>
#include <sys/stat.h>

namespace xaas::config {

namespace {

// An empty variable means "none" for settings without a built-in value, and counts as unset for others.
bool empty_is_none(const Definition& definition) {
  const std::string key = definition.key;
  return key == "shared_cache" || key == "reuse" || key == "verify_key" || key == "certificate_identity" ||
         key == "certificate_issuer" || key == "trusted_root";
}

} // namespace

Sources own_sources(const fs::path& program) {
  Sources sources;
  sources.environment = [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  const auto text = [&sources](const char* name) { return sources.environment(name).value_or(""); };
  const std::string site = text("XAAS_SITE_CONFIG");
  sources.site = site.empty() ? "/etc/xaas/config.json" : site;
  if (const std::string config = text("XDG_CONFIG_HOME"); !config.empty())
    sources.user = fs::path(config) / "xaas" / "config.json";
  else if (const std::string home = text("HOME"); !home.empty())
    sources.user = fs::path(home) / ".config" / "xaas" / "config.json";
  sources.project = "xaas-config.json";
  sources.owners = trusted_owners(program);
  return sources;
}

Result<Settings> Settings::read(const Sources& sources) {
  Settings settings;
  settings.machines_ = Machines(sources);
  for (const Definition& definition : definitions())
    settings.settings_.push_back(
        {definition.key, built_in_value(definition, sources.environment), Origin::built_in, {}});
  XAAS_CHECK(settings.read_file({Origin::site, sources.site, false, {}, {}}, sources));
  XAAS_CHECK(settings.read_file({Origin::user, sources.user, false, {}, {}}, sources));
  XAAS_CHECK(settings.read_file({Origin::project, sources.project, false, {}, {}}, sources));
  XAAS_CHECK(settings.apply_environment(sources));
  // Only a site file that root wrote vouches for the shared cache; XAAS_SITE_CONFIG can name any file.
  struct stat status{};
  settings.vouched_ = settings.at("shared_cache").origin == Origin::site &&
                      stat(sources.site.c_str(), &status) == 0 && status.st_uid == 0;
  return settings;
}

Result<void> Settings::apply_environment(const Sources& sources) {
  for (const Definition& definition : definitions()) {
    const std::optional<std::string> text =
        definition.variable ? sources.environment(definition.variable) : std::nullopt;
    if (!text || (text->empty() && !empty_is_none(definition)))
      continue;
    Json value;
    if (!text->empty()) {
      XAAS_TRY(value, parse_value(definition, *text, std::string(definition.variable) + "="));
    }
    find(definition.key) = {definition.key, std::move(value), Origin::environment, definition.variable};
  }
  return {};
}

Result<void> Settings::take_option(const Definition& definition, const std::vector<std::string>& texts) {
  const std::string option = std::string("--") + definition.option;
  Json value = true;
  if (definition.type == Type::list)
    value = texts;
  else if (!texts.empty()) {
    XAAS_TRY(value, parse_value(definition, texts.back(), option + " "));
  }
  find(definition.key) = {definition.key, std::move(value), Origin::command_line, option};
  return {};
}

Setting& Settings::find(const std::string& key) {
  return *std::find_if(settings_.begin(), settings_.end(),
                       [&key](const Setting& setting) { return setting.key == key; });
}

const Setting& Settings::at(const std::string& key) const {
  return *std::find_if(settings_.begin(), settings_.end(),
                       [&key](const Setting& setting) { return setting.key == key; });
}

std::vector<Setting> Settings::all() const {
  std::vector<Setting> rows = settings_;
  rows.insert(rows.end(), registry_rows_.begin(), registry_rows_.end());
  return rows;
}

std::string Settings::text_of(const std::string& key) const {
  const Json& value = at(key).value;
  return value.is_string() ? value.get<std::string>() : std::string();
}

fs::path Settings::cache_directory() const {
  return text_of("cache_directory");
}

uint64_t Settings::cache_max_bytes() const {
  return at("cache_max_size").value.get<uint64_t>();
}

fs::path Settings::shared_cache() const {
  return text_of("shared_cache");
}

bool Settings::shared_cache_is_vouched_for() const {
  return vouched_;
}

fs::path Settings::temporary_directory() const {
  return text_of("temporary_directory");
}

std::optional<unsigned> Settings::jobs() const {
  const Json& value = at("jobs").value;
  return value.is_null() ? std::nullopt : std::optional(value.get<unsigned>());
}

bool Settings::jobs_only_lower() const {
  return at("jobs").origin == Origin::project;
}

unsigned Settings::login_jobs() const {
  return at("login_jobs").value.get<unsigned>();
}

int Settings::nice() const {
  return at("nice").value.get<int>();
}

fs::path Settings::authfile() const {
  return text_of("authfile");
}

fs::path Settings::cert_dir() const {
  return text_of("cert_dir");
}

bool Settings::offline() const {
  return at("offline").value.get<bool>();
}

std::vector<std::string> Settings::list_of(const std::string& key) const {
  const Json& value = at(key).value;
  return value.is_array() ? value.get<std::vector<std::string>>() : std::vector<std::string>();
}

std::vector<std::string> Settings::runtimes() const {
  return list_of("runtimes");
}

std::vector<std::string> Settings::binds() const {
  return list_of("binds");
}

std::vector<std::string> Settings::environment() const {
  return list_of("environment");
}

uint64_t Settings::number(const std::string& key) const {
  return at(key).value.get<uint64_t>();
}

std::string Settings::reuse() const {
  return text_of("reuse");
}

fs::path Settings::verify_key() const {
  return text_of("verify_key");
}

std::string Settings::certificate_identity() const {
  return text_of("certificate_identity");
}

std::string Settings::certificate_issuer() const {
  return text_of("certificate_issuer");
}

fs::path Settings::trusted_root() const {
  return text_of("trusted_root");
}

} // namespace xaas::config
