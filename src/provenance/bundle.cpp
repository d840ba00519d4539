#include "bundle.h"

#include <xaas/base/base64.h>
#include <xaas/base/json.h>
#include <xaas/provenance/slsa.h>

#include <optional>
#include <utility>

namespace xaas::provenance {

namespace {

constexpr std::string_view statement_version = "https://in-toto.io/Statement/v";
constexpr const char* signature_predicate = "https://sigstore.dev/cosign/sign/v1";
constexpr size_t max_envelope_signatures = 16;

// What an envelope's signatures sign, so that a payload is never taken for one of another type (DSSE,
// "Pre-Authentication Encoding").
std::string encode_for_signing(const std::string& type, const std::string& payload) {
  return "DSSEv1 " + std::to_string(type.size()) + " " + type + " " + std::to_string(payload.size()) + " " +
         payload;
}

Result<std::string> decoded_at(const JsonReader& reader, const std::string& key) {
  XAAS_TRY(const std::string text, reader.string_at(key));
  std::optional<std::string> bytes = decode_base64(text);
  if (!bytes || bytes->empty())
    return make_error(ErrorKind::integrity, reader.where() + "/" + key + ": not in base64");
  return *std::move(bytes);
}

struct Envelope {
  std::string type, payload;
  std::vector<std::string> signatures;
};

Result<Envelope> parse_envelope(const JsonReader& reader) {
  Envelope envelope;
  XAAS_TRY(envelope.type, reader.string_at("payloadType"));
  XAAS_TRY(envelope.payload, decoded_at(reader, "payload"));
  XAAS_TRY(const JsonReader signatures, reader.at("signatures"));
  XAAS_TRY(const std::vector<JsonReader> items, signatures.items());
  if (items.size() > max_envelope_signatures)
    return make_error(ErrorKind::integrity, signatures.where() + ": too many");
  for (const JsonReader& item : items) {
    XAAS_TRY(std::string signature, decoded_at(item, "sig"));
    envelope.signatures.push_back(std::move(signature));
  }
  return envelope;
}

// Called only for a payload whose signature is valid.
Result<std::string> why_not_about(const Envelope& envelope, const Digest& wanted) {
  if (envelope.type != statement_media_type)
    return std::string("by this key, but of something else than an image");
  XAAS_TRY(const Json json, parse_json(envelope.payload, "payload", false, ErrorKind::integrity));
  const JsonReader statement(json, "payload");
  XAAS_TRY(const std::string version, statement.string_at("_type"));
  XAAS_TRY(const std::string predicate, statement.string_at("predicateType"));
  if (!version.starts_with(statement_version))
    return std::string("by this key, but of something else than an image");
  if (predicate != signature_predicate)
    return std::string("by this key, but an attestation, not a signature of the image");
  XAAS_TRY(const JsonReader subjects, statement.at("subject"));
  XAAS_TRY(const std::vector<JsonReader> items, subjects.items());
  for (const JsonReader& item : items) {
    XAAS_TRY(const JsonReader digests, item.at("digest"));
    XAAS_TRY(const std::string hex, digests.string_or("sha256", ""));
    if (hex == wanted.hex())
      return std::string();
  }
  return std::string("by this key, but of another image");
}

Result<std::string> judge(const std::string& bundle, const PublicKey& key, const Digest& wanted) {
  XAAS_TRY(const Json json, parse_json(bundle, "bundle", false, ErrorKind::integrity));
  const JsonReader reader(json, "bundle");
  if (!reader.has("dsseEnvelope"))
    return std::string("in a bundle without an envelope");
  XAAS_TRY(const JsonReader content, reader.at("dsseEnvelope"));
  XAAS_TRY(const Envelope envelope, parse_envelope(content));
  const std::string message = encode_for_signing(envelope.type, envelope.payload);
  for (const std::string& signature : envelope.signatures)
    if (key.verifies(message, signature))
      return why_not_about(envelope, wanted);
  if (reader.has("verificationMaterial")) {
    XAAS_TRY(const JsonReader material, reader.at("verificationMaterial"));
    if (material.has("certificate") || material.has("x509CertificateChain"))
      return std::string(by_certificate);
  }
  return std::string("not by this key");
}

} // namespace

bool is_bundle_type(const std::string& media_type) {
  return media_type.starts_with("application/vnd.dev.sigstore.bundle");
}

std::string why_not_valid(const std::string& bundle, const PublicKey& key, const Digest& wanted) {
  Result<std::string> reason = judge(bundle, key, wanted);
  return reason ? *std::move(reason) : "in a malformed bundle (" + reason.error().message + ")";
}

} // namespace xaas::provenance
