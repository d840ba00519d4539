// Who we are at a registry: containers-auth.json(5), and Docker's config.json.
#pragma once

#include <xaas/base/result.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace xaas::registry {

struct Credentials {
  std::string user, password;
  std::string identity_token; // instead of a password: to be changed for a token
  bool empty() const { return user.empty() && password.empty() && identity_token.empty(); }
};

// Where they are looked for: `authfile`, else $REGISTRY_AUTH_FILE, and then nowhere else; else
// $XDG_RUNTIME_DIR/containers/auth.json (without that variable: /run/containers/$UID/auth.json),
// $XDG_CONFIG_HOME/containers/auth.json, $DOCKER_CONFIG/config.json or ~/.docker/config.json, ~/.dockercfg.
struct CredentialSources {
  std::string authfile;
  std::function<std::string(const char* name)> environment;
  std::chrono::seconds helper_limit{30};
};

// Those for a repository; empty ones where there are none. In each file the longest key that matches, of
// `credHelpers`, then `credsStore`, then `auths`. An `authfile` that is not there is not_found; a file that
// is no such JSON is a usage error that names it; a helper that is not there is missing_tool, one that fails
// or takes too long failed.
Result<Credentials> find_credentials(const CredentialSources& sources, const std::string& host,
                                     const std::string& repository);

// Asks `docker-credential-NAME get` for a server's credentials. Nothing: it has none.
Result<std::optional<Credentials>> ask_helper(const std::string& name, const std::string& server,
                                              std::chrono::seconds limit);

} // namespace xaas::registry
