#include "credentials.h"

#include <xaas/base/base64.h>

#include <xaas/base/file.h>
#include <xaas/base/json.h>

#include <algorithm>
#include <unistd.h>
#include <vector>

namespace xaas::registry {

namespace {

constexpr const char* docker_server = "https://index.docker.io/v1/"; // Docker's name for docker.io
constexpr uint64_t file_limit = uint64_t(4) << 20;

struct AuthFile {
  fs::path path;
  bool required = false; // named by the user
  bool bare = false;     // ~/.dockercfg, which lacks the key `auths`
};

std::vector<AuthFile> files_of(const CredentialSources& sources) {
  const auto variable = [&](const char* name) { return sources.environment(name); };
  if (!sources.authfile.empty())
    return {{sources.authfile, true, false}};
  if (const std::string file = variable("REGISTRY_AUTH_FILE"); !file.empty())
    return {{file, false, false}};
  std::vector<AuthFile> files;
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  files.push_back(
      {(runtime.empty() ? "/run/containers/" + std::to_string(getuid()) : runtime + "/containers") +
       "/auth.json"});
  const std::string home = variable("HOME"), config = variable("XDG_CONFIG_HOME");
  if (!config.empty() || !home.empty())
    files.push_back({fs::path(config.empty() ? home + "/.config" : config) / "containers/auth.json"});
  if (const std::string docker = variable("DOCKER_CONFIG"); !docker.empty())
    files.push_back({fs::path(docker) / "config.json"});
  else if (!home.empty())
    files.push_back({fs::path(home) / ".docker/config.json"});
  if (!home.empty())
    files.push_back({fs::path(home) / ".dockercfg", false, true});
  if (const std::string apptainer = variable("APPTAINER_CONFIGDIR"); !apptainer.empty())
    files.push_back({fs::path(apptainer) / "docker-config.json"});
  else if (!home.empty())
    files.push_back({fs::path(home) / ".apptainer/docker-config.json"});
  return files;
}

// The possible keys, most specific first: HOST/A/B, HOST/A, HOST.
std::vector<std::string> keys_of(const std::string& host, const std::string& repository) {
  std::vector<std::string> keys;
  for (std::string key = host + "/" + repository; key.size() > host.size(); key.erase(key.rfind('/')))
    keys.push_back(key);
  keys.push_back(host);
  return keys;
}

// Normalizes a key written by hand or by `docker login`, which may have a scheme and the path of the API.
std::string plain_key(std::string key) {
  bool url = false;
  for (const char* scheme : {"https://", "http://"})
    if (key.starts_with(scheme)) {
      key.erase(0, std::string_view(scheme).size());
      url = true;
    }
  if (url)
    key.erase(std::min(key.find('/'), key.size()));
  return key == "index.docker.io" ? "docker.io" : key;
}

Error wrong_file(const fs::path& path, const std::string& what) {
  return make_error(ErrorKind::usage, path.string() + ": " + what,
                    "`podman login` and `docker login` write such files");
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// One entry of `auths`. Errors must not quote it.
Result<Credentials> parse_entry(const Json& entry, const fs::path& path, const std::string& key) {
  Credentials credentials;
  if (!entry.is_object())
    return wrong_file(path, "the entry of " + key + " is not an object");
  credentials.identity_token = text_at(entry, "identitytoken");
  credentials.user = text_at(entry, "username");
  credentials.password = text_at(entry, "password");
  const std::string auth = text_at(entry, "auth");
  if (auth.empty())
    return credentials;
  const std::optional<std::string> both = decode_base64(auth);
  const size_t colon = both ? both->find(':') : std::string::npos;
  if (colon == std::string::npos)
    return wrong_file(path, "the entry of " + key + " is not base64 of USER:PASSWORD");
  credentials.user = both->substr(0, colon);
  credentials.password = both->substr(colon + 1);
  while (credentials.password.ends_with('\0')) // old versions of Docker padded it
    credentials.password.pop_back();
  return credentials;
}

Result<std::optional<Credentials>> find_in(const Json& json, const AuthFile& file, const std::string& host,
                                           const std::string& repository, std::chrono::seconds limit) {
  const std::vector<std::string> keys = keys_of(host, repository);
  const std::string server = host == "docker.io" ? docker_server : host;
  static const Json none = Json::object();
  const auto member = [&](const char* name) -> const Json& {
    const auto found = json.find(name);
    return found != json.end() && found->is_object() ? *found : none;
  };
  if (!file.bare) {
    const Json& helpers = member("credHelpers");
    for (const std::string& key : keys)
      for (const auto& [name, helper] : helpers.items())
        if (plain_key(name) == key && helper.is_string())
          return ask_helper(helper.get<std::string>(), key == host ? server : key, limit)
              .in(file.path.string());
    if (const std::string helper = text_at(json, "credsStore"); !helper.empty()) {
      XAAS_TRY(std::optional<Credentials> found, ask_helper(helper, server, limit).in(file.path.string()));
      if (found)
        return found;
    }
  }
  const Json& auths = file.bare ? json : member("auths");
  for (const std::string& key : keys)
    for (const auto& [name, entry] : auths.items())
      if (plain_key(name) == key) {
        XAAS_TRY(Credentials found, parse_entry(entry, file.path, name));
        if (!found.empty()) // an empty entry means that a helper has them
          return std::optional<Credentials>(std::move(found));
      }
  return std::optional<Credentials>();
}

} // namespace

Result<Credentials> find_credentials(const CredentialSources& sources, const std::string& host,
                                     const std::string& repository) {
  for (const AuthFile& file : files_of(sources)) {
    std::error_code code;
    if (!file.required && !fs::exists(file.path, code))
      continue;
    XAAS_TRY(const std::string text, read_file(file.path, file_limit).in("looking for credentials"));
    // The parser's message would quote the text.
    const Result<Json> json = parse_json(text, "");
    if (!json || !json->is_object())
      return wrong_file(file.path, "is not a JSON object, or has a repeated key")
          .in("looking for credentials");
    XAAS_TRY(std::optional<Credentials> found,
             find_in(*json, file, host, repository, sources.helper_limit).in("looking for credentials"));
    if (found)
      return *std::move(found);
  }
  return Credentials();
}

} // namespace xaas::registry
