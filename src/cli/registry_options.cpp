#include "registry_options.h"

#include "caches.h"

namespace xaas::cli {

void RegistryOptions::add(CLI::App& app) {
  app.add_option("--authfile", authfile_,
                 "Credentials of registries; else those that `podman login` or `docker login` keeps")
      ->type_name("FILE");
  app.add_option("--cert-dir", cert_dir_,
                 "Certificates for a registry: authorities (*.crt), and who we are (*.cert, *.key)")
      ->type_name("DIR");
  app.add_flag("--tls-verify", tls_verify_,
               "`--tls-verify=false`: take any certificate of a registry, and plain HTTP");
  app.add_flag("--offline", offline_, "Open no network connection");
}

registry::Access RegistryOptions::read(bool keep, TerminalProgress& progress) const {
  registry::Access access;
  access.authfile = authfile_;
  access.cert_dir = cert_dir_;
  access.tls_verify = tls_verify_;
  access.offline = offline_;
  if (keep)
    access.blobs = open_cache("blobs", progress);
  return access;
}

void prune_after(const oci::Reference& reference) {
  if (reference.transport != oci::Transport::registry)
    return;
  if (const Result<uint64_t> limit = max_cache_bytes())
    prune_caches(*limit);
}

} // namespace xaas::cli
