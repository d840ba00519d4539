#include "verify_key.h"

namespace xaas::cli {

void add_verify_key(CLI::App& app, std::string& file) {
  app.add_option("--verify-key", file,
                 "Use the image only if it is signed with this public key (PEM), as by `cosign sign --key`")
      ->type_name("FILE");
}

Result<std::optional<provenance::PublicKey>> read_verify_key(const std::string& file) {
  if (file.empty())
    return std::optional<provenance::PublicKey>();
  XAAS_TRY(provenance::PublicKey key, provenance::PublicKey::read(file));
  return std::optional(std::move(key));
}

Json to_json(const std::optional<provenance::Signature>& signature) {
  if (!signature)
    return {};
  return Json{{"image", signature->image.to_string()}, {"key", signature->key.to_string()}};
}

} // namespace xaas::cli
