// Who must have signed an image: --verify-key, or an identity.
#pragma once

#include <xaas/base/json.h>
#include <xaas/provenance/signature.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace xaas::cli {

class SignerOptions {
public:
  void add(CLI::App& app);
  // nullopt: nobody must have. From the options alone, except for the trusted root, or also from the
  // settings, which an option of the other kind overrides.
  enum class From { options, settings };
  Result<std::optional<provenance::Signer>> read(From from) const;

private:
  std::string key_, identity_, issuer_, root_;
};

// The signed digest, and the key or the identity; null without a signature.
Json to_json(const std::optional<provenance::Signature>& signature);

} // namespace xaas::cli
