#include "values.h"

#include <xaas/base/text.h>

#include <charconv>
#include <pwd.h>
#include <unistd.h>

namespace xaas::config {

namespace {

// Batch jobs and cron may not set USER and HOME.
std::optional<std::string> variable(const std::string& name, const Environment& environment) {
  if (std::optional<std::string> value = environment(name.c_str()); value && !value->empty())
    return value;
  const passwd* const user = name == "USER" || name == "HOME" ? getpwuid(geteuid()) : nullptr;
  if (!user)
    return std::nullopt;
  return std::string(name == "USER" ? user->pw_name : user->pw_dir);
}

Result<uint64_t> parse_number(const std::string& text, uint64_t lowest, uint64_t highest,
                              const std::string& what) {
  uint64_t number = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (trouble != std::errc() || end != text.data() + text.size() || number < lowest || number > highest)
    return make_error(ErrorKind::usage, what + text + ": not a number from " + std::to_string(lowest) +
                                            " to " + std::to_string(highest));
  return number;
}

} // namespace

Result<uint64_t> parse_size(const std::string& what, const std::string& text) {
  uint64_t number = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const size_t power = unit.empty() ? 0 : std::string_view(" KMGT").find(unit);
  if (trouble != std::errc() || unit.size() > 1 || unit == " " || power == std::string_view::npos ||
      number > UINT64_MAX >> (10 * power))
    return make_error(ErrorKind::usage, what + text + ": not a size",
                      "a number of bytes, or one with K, M, G or T, as in 20G");
  return number << (10 * power);
}

Result<std::string> expand(const std::string& path, const Environment& environment, const std::string& what) {
  std::string rest = path.starts_with("~/") ? "${HOME}" + path.substr(1) : path;
  std::string expanded;
  for (size_t start = rest.find("${"); start != std::string::npos; start = rest.find("${")) {
    const size_t end = rest.find('}', start);
    if (end == std::string::npos)
      return make_error(ErrorKind::usage, what + ": " + path + ": ${ without }");
    const std::string name = rest.substr(start + 2, end - start - 2);
    const std::optional<std::string> value = variable(name, environment);
    if (!value)
      return make_error(ErrorKind::usage, what + ": " + path + ": " + name + " is not set");
    expanded += rest.substr(0, start) + *value;
    rest.erase(0, end + 1);
  }
  expanded += rest;
  if (!expanded.starts_with('/'))
    return make_error(ErrorKind::usage, what + ": " + expanded + ": not an absolute path");
  return expanded;
}

bool variables_are_set(const std::string& path, const Environment& environment) {
  for (size_t start = path.find("${"); start != std::string::npos; start = path.find("${", start + 1)) {
    const size_t end = path.find('}', start);
    if (end != std::string::npos && !variable(path.substr(start + 2, end - start - 2), environment))
      return false;
  }
  return true;
}

// The same bounds as in the schema, which files are checked against.
static std::pair<uint64_t, uint64_t> bounds_of(std::string_view key) {
  if (key == "nice")
    return {0, 19};
  if (key.starts_with("build_"))
    return {0, 1'000'000'000};
  return {1, 4096};
}

Result<Json> parse_value(const Definition& definition, const std::string& text, const std::string& what) {
  switch (definition.type) {
  case Type::path:
  case Type::text:
    return Json(text);
  case Type::size: {
    XAAS_TRY(const uint64_t size, parse_size(what, text));
    return Json(size);
  }
  case Type::count: {
    const auto [least, most] = bounds_of(definition.key);
    XAAS_TRY(const uint64_t count, parse_number(text, least, most, what));
    return Json(count);
  }
  case Type::paths:
  case Type::list:
    return Json(split(text, ','));
  case Type::flag:
    for (const char* yes : {"1", "true", "yes", "on"})
      if (to_lower(text) == yes)
        return Json(true);
    for (const char* no : {"0", "false", "no", "off"})
      if (to_lower(text) == no)
        return Json(false);
    return make_error(ErrorKind::usage, what + text + ": neither yes nor no");
  }
  return Json();
}

Json built_in_value(const Definition& definition, const Environment& environment) {
  const std::string key = definition.key;
  const auto text = [&environment](const char* name) { return environment(name).value_or(""); };
  if (key == "cache_directory") {
    if (const std::string cache = text("XDG_CACHE_HOME"); !cache.empty())
      return (fs::path(cache) / "xaas").string();
    if (const std::string home = text("HOME"); !home.empty())
      return (fs::path(home) / ".cache" / "xaas").string();
    const std::string temporary = text("TMPDIR");
    return (fs::path(temporary.empty() ? "/tmp" : temporary) / "xaas-cache").string();
  }
  if (key == "cache_max_size")
    return uint64_t(5) << 30;
  if (key == "temporary_directory")
    return "/tmp";
  if (key == "build_processes")
    return 4096;
  if (key == "build_memory")
    return 0;
  if (key == "build_disk")
    return uint64_t(64) << 30;
  if (key == "build_seconds")
    return 43200;
  if (key == "build_idle_seconds")
    return 900;
  if (key == "login_jobs")
    return 8;
  if (key == "nice")
    return 10;
  if (key == "offline")
    return false;
  return {};
}

} // namespace xaas::config
