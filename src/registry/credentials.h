// Credentials for registries: containers-auth.json(5), and Docker's config.json.
#pragma once

#include <xaas/base/result.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace xaas::registry {

struct Credentials {
  std::string user, password;
  std::string identity_token; // instead of a password; exchanged for a token
  bool empty() const { return user.empty() && password.empty() && identity_token.empty(); }
};

// Where to look for credentials: only in `authfile` or else $REGISTRY_AUTH_FILE if set; otherwise in
// $XDG_RUNTIME_DIR/containers/auth.json (without that variable, /run/containers/$UID/auth.json),
// $XDG_CONFIG_HOME/containers/auth.json, $DOCKER_CONFIG/config.json or ~/.docker/config.json, ~/.dockercfg,
// and Apptainer's $APPTAINER_CONFIGDIR/docker-config.json or ~/.apptainer/docker-config.json.
struct CredentialSources {
  std::string authfile;
  std::function<std::string(const char* name)> environment;
  std::chrono::seconds helper_limit{30};
};

// The credentials for a repository, empty if there are none. In each file the longest matching key counts,
// first in `credHelpers`, then `credsStore`, then `auths`. A missing `authfile` is not_found; a malformed
// file is a usage error that names it; a missing helper is missing_tool, and one that fails or takes too long
// is failed.
Result<Credentials> find_credentials(const CredentialSources& sources, const std::string& host,
                                     const std::string& repository);

// Asks `docker-credential-NAME get` for a server's credentials. Nothing if it has none.
Result<std::optional<Credentials>> ask_helper(const std::string& name, const std::string& server,
                                              std::chrono::seconds limit);

} // namespace xaas::registry
