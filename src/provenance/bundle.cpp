#include "bundle.h"

#include "signing_time.h"

#include <xaas/base/base64.h>
#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/provenance/slsa.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace xaas::provenance {

namespace {

constexpr std::string_view statement_version = "https://in-toto.io/Statement/v";
constexpr const char* signature_predicate = "https://sigstore.dev/cosign/sign/v1";
constexpr size_t max_envelope_signatures = 16;
constexpr size_t max_certificate = 64 * 1024;
constexpr size_t longest_reason = 300; // it can quote the bundle

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
    return std::string("of something else than an image");
  XAAS_TRY(const Json json, parse_json(envelope.payload, "payload", false, ErrorKind::integrity));
  const JsonReader statement(json, "payload");
  XAAS_TRY(const std::string version, statement.string_at("_type"));
  XAAS_TRY(const std::string predicate, statement.string_at("predicateType"));
  if (!version.starts_with(statement_version))
    return std::string("of something else than an image");
  if (predicate != signature_predicate)
    return std::string("an attestation, not a signature of the image");
  XAAS_TRY(const JsonReader subjects, statement.at("subject"));
  XAAS_TRY(const std::vector<JsonReader> items, subjects.items());
  for (const JsonReader& item : items) {
    XAAS_TRY(const JsonReader digests, item.at("digest"));
    XAAS_TRY(const std::string hex, digests.string_or("sha256", ""));
    if (hex == wanted.hex())
      return std::string();
  }
  return std::string("of another image");
}

// The certificate of a bundle in DER; empty: it has none.
Result<std::string> certificate_of(const JsonReader& material) {
  if (const std::optional<JsonReader> alone = material.find("certificate"))
    return decoded_at(*alone, "rawBytes");
  const std::optional<JsonReader> chain = material.find("x509CertificateChain");
  if (!chain)
    return std::string();
  XAAS_TRY(const JsonReader list, chain->at("certificates"));
  XAAS_TRY(const std::vector<JsonReader> certificates, list.items());
  if (certificates.empty())
    return std::string();
  return decoded_at(certificates.front(), "rawBytes");
}

Result<std::string> judge_key(const JsonReader& bundle, const Envelope& envelope, const PublicKey& key,
                              const Digest& wanted) {
  const std::string message = encode_for_signing(envelope.type, envelope.payload);
  for (const std::string& signature : envelope.signatures)
    if (key.verifies(message, signature)) {
      XAAS_TRY(const std::string reason, why_not_about(envelope, wanted));
      return reason.empty() ? reason : "by this key, but " + reason;
    }
  if (const std::optional<JsonReader> material = bundle.find("verificationMaterial")) {
    XAAS_TRY(const std::string certificate, certificate_of(*material));
    if (!certificate.empty())
      return std::string(by_certificate);
  }
  return std::string("not by this key");
}

// First the signature by the certificate's key, then when it was made, then whether the certificate was good
// at that time, and last whose it is and what it signs.
Result<std::string> judge_identity(const JsonReader& bundle, const Envelope& envelope,
                                   const Identity& identity, const Digest& wanted) {
  XAAS_TRY(const JsonReader material, bundle.at("verificationMaterial"));
  XAAS_TRY(const std::string der, certificate_of(material));
  if (der.empty())
    return std::string("by a key, not by an identity");
  const Certificate certificate = der.size() > max_certificate ? nullptr : parse_certificate(der);
  if (!certificate)
    return std::string("with a damaged certificate");
  XAAS_TRY(const PublicKey key, key_of(certificate));
  const std::string message = encode_for_signing(envelope.type, envelope.payload);
  const auto signature = std::find_if(envelope.signatures.begin(), envelope.signatures.end(),
                                      [&](const std::string& each) { return key.verifies(message, each); });
  if (signature == envelope.signatures.end())
    return std::string("not by the key of its certificate");
  const TrustedRoot::Content& root = identity.root.content();
  const std::vector<int64_t> times = proven_times(material, {envelope.payload, *signature, der}, root);
  if (times.empty())
    return std::string("without a time that a trusted log or timestamp authority has signed");
  for (const int64_t time : times) // each must be right: a bundle cannot choose among them
    if (const std::string reason = why_not_certified(certificate, root, time); !reason.empty())
      return reason;
  const Identified found = identities_of(certificate);
  if (found.issuer != identity.issuer ||
      std::find(found.identities.begin(), found.identities.end(), identity.name) == found.identities.end())
    return "by " + printable(join(found.identities, ", ") + " of " + found.issuer);
  XAAS_TRY(const std::string reason, why_not_about(envelope, wanted));
  return reason.empty() ? reason : "by this identity, but " + reason;
}

Result<std::string> judge(const std::string& bundle, const Signer& signer, const Digest& wanted) {
  XAAS_TRY(const Json json, parse_json(bundle, "bundle", false, ErrorKind::integrity));
  const JsonReader reader(json, "bundle");
  if (!reader.has("dsseEnvelope"))
    return std::string("in a bundle without an envelope");
  XAAS_TRY(const JsonReader content, reader.at("dsseEnvelope"));
  XAAS_TRY(const Envelope envelope, parse_envelope(content));
  if (const auto* const key = std::get_if<PublicKey>(&signer))
    return judge_key(reader, envelope, *key, wanted);
  return judge_identity(reader, envelope, std::get<Identity>(signer), wanted);
}

} // namespace

bool is_bundle_type(const std::string& media_type) {
  return media_type.starts_with("application/vnd.dev.sigstore.bundle");
}

std::string why_not_valid(const std::string& bundle, const Signer& signer, const Digest& wanted) {
  const Result<std::string> judged = judge(bundle, signer, wanted);
  std::string reason = judged ? *judged : "in a malformed bundle (" + judged.error().message + ")";
  if (reason.size() > longest_reason)
    reason = reason.substr(0, longest_reason) + "...";
  return printable(replaced(reason, "\n", " "));
}

} // namespace xaas::provenance
