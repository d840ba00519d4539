#include "endpoint.h"

#include <algorithm>

namespace xaas::llm {

namespace {

struct Form {
  Style style;
  const char* path; // below the version
  const char* key;
};
constexpr const char* version = "/v1";
constexpr Form forms[] = {{Style::openai, "/chat/completions", "OPENAI_API_KEY"},
                          {Style::anthropic, "/messages", "ANTHROPIC_API_KEY"}};

const Form& form_of(Style style) {
  return forms[style == Style::openai ? 0 : 1];
}

Result<Style> complete(http::Url& url, const std::optional<Style>& wanted) {
  while (url.path.ends_with("/"))
    url.path.pop_back();
  for (const Form& form : forms)
    if (url.path.ends_with(form.path)) {
      if (wanted && *wanted != form.style)
        return make_error(ErrorKind::usage, "--llm-style " + to_string(*wanted) + ": the path " + url.path +
                                                " of the URL is of style " + to_string(form.style));
      return form.style;
    }
  const Style style = wanted.value_or(Style::openai);
  if (!url.path.ends_with(version))
    url.path += version;
  url.path += form_of(style).path;
  return style;
}

Result<std::string> find_key(Style style, const http::Url& url, const World& world) {
  const auto get = [&](const char* name) { return world.environment(name); };
  const char* name = "XAAS_LLM_KEY";
  const char* value = get(name);
  if (!value) { // empty: no key
    name = form_of(style).key;
    value = get(name);
    if (value && *value && url.scheme != "https" && !url.is_loopback())
      return make_error(
          ErrorKind::usage, std::string("the key in ") + name + " would be sent unencrypted to " + url.host,
          "use https; or set XAAS_LLM_KEY to the key to send, or to an empty string for no key");
  }
  const std::string key = value ? value : "";
  if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c <= ' ' || c >= 127; }))
    return make_error(ErrorKind::usage,
                      std::string("the key in ") + name + " has a character that is not allowed in a key");
  return key;
}

} // namespace

std::string to_string(Style style) {
  return style == Style::openai ? "openai" : "anthropic";
}

std::optional<Style> style_of(const std::string& name) {
  for (const Form& form : forms)
    if (to_string(form.style) == name)
      return form.style;
  return std::nullopt;
}

Result<Endpoint> make_endpoint(const Options& options, const World& world) {
  XAAS_TRY(http::Url url, http::parse_url(options.url));
  Endpoint endpoint;
  XAAS_TRY(endpoint.style, complete(url, options.style));
  XAAS_TRY(endpoint.key, find_key(endpoint.style, url, world));
  endpoint.url = url.text();
  endpoint.shown = http::shown(endpoint.url);
  endpoint.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  if (endpoint.style == Style::anthropic)
    endpoint.headers.push_back({"anthropic-version", "2023-06-01"});
  if (!endpoint.key.empty())
    endpoint.headers.push_back(endpoint.style == Style::openai
                                   ? http::Header{"Authorization", "Bearer " + endpoint.key}
                                   : http::Header{"x-api-key", endpoint.key});
  return endpoint;
}

} // namespace xaas::llm
