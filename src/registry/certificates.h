// TLS certificates for a registry: containers-certs.d(5).
#pragma once

#include <xaas/http/http.h>

#include <functional>
#include <string>

namespace xaas::registry {

// Reads `directory`, or else the first of these that exists: $XDG_CONFIG_HOME/containers/certs.d/HOST:PORT
// (~/.config), /etc/containers/certs.d/HOST:PORT, /etc/docker/certs.d/HOST:PORT. Files `*.crt` contain
// authorities; `*.cert` and the `*.key` of the same name are the client certificate. A missing `directory` is
// not_found; a `*.cert` without its key, or the reverse, is a usage error.
Result<http::Tls> find_certificates(const std::string& directory, const std::string& host,
                                    const std::function<std::string(const char*)>& environment);

} // namespace xaas::registry
