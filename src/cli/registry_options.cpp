#include "registry_options.h"

#include "caches.h"
#include "images.h"
#include "settings.h"

#include <xaas/registry/routes.h>

namespace xaas::cli {

void RegistryOptions::add(CLI::App& app) {
  app.add_option("--authfile", authfile_,
                 "Registry credentials (default: those of `podman login` or `docker login`)")
      ->type_name("FILE");
  app.add_option(
         "--cert-dir", cert_dir_,
         "Certificates for registries: authorities (*.crt), client certificates and keys (*.cert, *.key)")
      ->type_name("DIR");
  tls_option_ = app.add_flag("--tls-verify", tls_verify_,
                             "--tls-verify=false: accept any certificate from a registry, and plain HTTP");
  app.add_flag("--offline", offline_, "Open no network connections");
}

registry::Access RegistryOptions::read(bool keep, TerminalProgress& progress) const {
  const config::Settings& set = settings();
  registry::Access access;
  // A file named on the command line must exist; one from the settings need not.
  if (set.at("authfile").origin == config::Origin::command_line)
    access.authfile = set.authfile();
  else if (const std::string file = set.authfile(); !file.empty())
    access.environment = [file](const char* name) {
      return std::string_view(name) == "REGISTRY_AUTH_FILE" ? file : environment(name);
    };
  access.cert_dir = set.cert_dir();
  access.tls_verify = tls_verify_;
  access.offline = set.offline();
  const bool own_certificates = set.at("cert_dir").origin == config::Origin::command_line;
  access.adjust = [registries = set.registries(), own_certificates,
                   asked = tls_option_->count() > 0](const std::string& host, registry::Access& of) {
    const auto found = registries.find(host);
    if (found == registries.end())
      return;
    if (!asked)
      of.tls_verify = found->second.tls_verify.value_or(of.tls_verify);
    if (!own_certificates && !found->second.cert_dir.empty())
      of.cert_dir = found->second.cert_dir;
  };
  access.routes = [known = std::shared_ptr<const registry::Routes>()]() mutable
      -> Result<std::shared_ptr<const registry::Routes>> {
    if (!known) {
      XAAS_TRY(registry::Routes routes, registry::Routes::load(environment));
      known = std::make_shared<const registry::Routes>(std::move(routes));
    }
    return known;
  };
  access.note = [&progress](const std::string& text) { progress.note(text); };
  access.routes_may_be_insecure = tls_option_->count() == 0;
  if (keep)
    access.blobs = open_cache("blobs", progress);
  return access;
}

void RegistryOptions::append(std::vector<std::string>& arguments) const {
  if (!authfile_.empty())
    arguments.insert(arguments.end(), {"--authfile", authfile_});
  if (!cert_dir_.empty())
    arguments.insert(arguments.end(), {"--cert-dir", cert_dir_});
  if (!tls_verify_)
    arguments.emplace_back("--tls-verify=false");
  if (offline_)
    arguments.emplace_back("--offline");
}

void prune_after(const oci::Reference& reference) {
  if (reference.transport == oci::Transport::registry)
    prune_caches(max_cache_bytes());
}

} // namespace xaas::cli
