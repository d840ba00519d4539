// What TLS needs for a registry: containers-certs.d(5).
#pragma once

#include <xaas/http/http.h>

#include <functional>
#include <string>

namespace xaas::registry {

// From `directory`, else from the first of these that is there: $XDG_CONFIG_HOME/containers/certs.d/HOST:PORT
// (~/.config), /etc/containers/certs.d/HOST:PORT, /etc/docker/certs.d/HOST:PORT. Files `*.crt` are
// authorities,
// `*.cert` with `*.key` of the same name who we are. A `directory` that is not there is not_found; a `*.cert`
// without its key, or the reverse, a usage error.
Result<http::Tls> find_certificates(const std::string& directory, const std::string& host,
                                    const std::function<std::string(const char*)>& environment);

} // namespace xaas::registry
