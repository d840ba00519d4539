#include "signer_options.h"

#include "images.h"
#include "settings.h"

namespace xaas::cli {

void SignerOptions::add(CLI::App& app) {
  app.add_option("--verify-key", key_,
                 "Use the image only if it is signed with this public key (PEM), as by `cosign sign --key`")
      ->type_name("FILE")
      ->check(not_empty);
  app.add_option("--certificate-identity", identity_,
                 "Use the image only if this identity signed it: an email address, or the address of a "
                 "workflow, as by `cosign sign`")
      ->type_name("IDENTITY")
      ->check(not_empty);
  app.add_option("--certificate-oidc-issuer", issuer_,
                 "The provider that knows the identity, such as https://token.actions.githubusercontent.com")
      ->type_name("URL")
      ->check(not_empty);
  app.add_option("--trusted-root", root_,
                 "The certificate authorities and logs that are trusted for identities (trusted_root.json)")
      ->type_name("FILE")
      ->check(not_empty);
}

Result<std::optional<provenance::Signer>> SignerOptions::read(From from) const {
  std::string key = key_, identity = identity_, issuer = issuer_;
  if (!key.empty() && !identity.empty())
    return make_error(ErrorKind::usage, "--verify-key and --certificate-identity exclude each other");
  const bool from_settings = from == From::settings && key.empty() && identity.empty();
  if (from_settings) {
    key = settings().verify_key();
    identity = settings().certificate_identity();
    if (!key.empty() && !identity.empty())
      return make_error(ErrorKind::usage, "the settings verify_key (" + settings().at("verify_key").where +
                                              ") and certificate_identity (" +
                                              settings().at("certificate_identity").where +
                                              ") exclude each other");
  }
  if (issuer.empty())
    issuer = settings().certificate_issuer();
  if (identity.empty() && (!issuer_.empty() || !root_.empty()))
    return make_error(ErrorKind::usage,
                      "--certificate-oidc-issuer and --trusted-root need --certificate-identity");
  if (!key.empty()) {
    XAAS_TRY(provenance::PublicKey read, provenance::PublicKey::read(key));
    return std::optional<provenance::Signer>(std::move(read));
  }
  if (identity.empty())
    return std::optional<provenance::Signer>();
  const std::string root = root_.empty() ? settings().trusted_root().string() : root_;
  if (issuer.empty() || root.empty())
    return make_error(ErrorKind::usage,
                      "--certificate-identity " + identity + " needs " +
                          (issuer.empty() ? "--certificate-oidc-issuer" : "--trusted-root"),
                      "an identity is only as good as the provider and the authority that vouch for it");
  XAAS_TRY(provenance::TrustedRoot trusted, provenance::TrustedRoot::read(root));
  return std::optional<provenance::Signer>(provenance::Identity{identity, issuer, std::move(trusted)});
}

Json to_json(const std::optional<provenance::Signature>& signature) {
  if (!signature)
    return {};
  Json json = {{"image", signature->image.to_string()}};
  json["key"] = signature->key ? Json(signature->key->to_string()) : Json();
  if (!signature->key) {
    json["identity"] = signature->identity;
    json["issuer"] = signature->issuer;
  }
  return json;
}

} // namespace xaas::cli
