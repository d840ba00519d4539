#include "signing_time.h"

#include <xaas/base/base64.h>
#include <xaas/base/text.h>

#include <openssl/pem.h>

#include <algorithm>
#include <charconv>

namespace xaas::provenance {

namespace {

constexpr size_t most_proofs = 16;             // of a kind; each is verified
constexpr size_t largest_response = 64 * 1024; // of a timestamp authority, with its certificates

std::optional<std::string> bytes_at(const JsonReader& reader, const std::string& key) {
  const Result<std::string> text = reader.string_at(key);
  return text ? decode_base64(*text) : std::nullopt;
}

// A number of 64 bits in JSON of protocol buffers: a text, or a number; 0 may be missing.
std::optional<int64_t> number_at(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> found = reader.find(key);
  if (!found)
    return 0;
  if (const Result<int64_t> number = found->integer())
    return *number >= 0 ? std::optional(*number) : std::nullopt;
  const Result<std::string> text = found->string();
  int64_t number = 0;
  if (!text)
    return std::nullopt;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  return code == std::errc() && end == text->data() + text->size() && number >= 0 ? std::optional(number)
                                                                                  : std::nullopt;
}

std::string hex_of(std::string_view bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// The DER of a certificate in PEM.
std::string der_of(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Certificate certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr) : nullptr,
                                X509_free);
  unsigned char* der = nullptr;
  const int size = certificate ? i2d_X509(certificate.get(), &der) : 0;
  if (size <= 0)
    return {};
  std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

// Whether an entry of a log (dsse 0.0.1) is about this payload, signature and certificate: a log takes
// entries from everybody, so one about something else proves nothing.
Result<bool> is_about(const std::string& body, const SignedPayload& wanted) {
  XAAS_TRY(const Json json, parse_json(body, "entry", false, ErrorKind::integrity));
  const JsonReader entry(json, "entry");
  XAAS_TRY(const std::string kind, entry.string_at("kind"));
  XAAS_TRY(const std::string version, entry.string_at("apiVersion"));
  if (kind != "dsse" || version != "0.0.1")
    return false;
  XAAS_TRY(const JsonReader spec, entry.at("spec"));
  XAAS_TRY(const JsonReader hash, spec.at("payloadHash"));
  XAAS_TRY(const std::string algorithm, hash.string_at("algorithm"));
  XAAS_TRY(const std::string value, hash.string_at("value"));
  if (algorithm != "sha256" || value != digest_of(wanted.payload).hex())
    return false;
  XAAS_TRY(const JsonReader list, spec.at("signatures"));
  XAAS_TRY(const std::vector<JsonReader> signatures, list.items());
  return std::any_of(signatures.begin(), signatures.end(), [&](const JsonReader& each) {
    const std::optional<std::string> signature = bytes_at(each, "signature"),
                                     verifier = bytes_at(each, "verifier");
    return signature && verifier && *signature == wanted.signature && der_of(*verifier) == wanted.certificate;
  });
}

// The time that a log signed (signedEntryTimestamp), over JSON with sorted keys and no blanks.
std::optional<int64_t> time_of_entry(const JsonReader& entry, const SignedPayload& wanted,
                                     const std::vector<Log>& logs) {
  const std::optional<JsonReader> id_reader = entry.find("logId"), promise = entry.find("inclusionPromise");
  const std::optional<std::string> body = bytes_at(entry, "canonicalizedBody");
  const std::optional<int64_t> time = number_at(entry, "integratedTime"),
                               index = number_at(entry, "logIndex");
  if (!id_reader || !promise || !body || !time || !index)
    return std::nullopt;
  const std::optional<std::string> id = bytes_at(*id_reader, "keyId"),
                                   signature = bytes_at(*promise, "signedEntryTimestamp");
  if (!id || !signature)
    return std::nullopt;
  const std::string message = R"({"body":")" + encode_base64(*body) + R"(","integratedTime":)" +
                              std::to_string(*time) + R"(,"logID":")" + hex_of(*id) + R"(","logIndex":)" +
                              std::to_string(*index) + "}";
  const bool signed_by_log = std::any_of(logs.begin(), logs.end(), [&](const Log& log) {
    return log.id == *id && log.valid.contains(*time) && log.key.verifies(message, *signature);
  });
  if (!signed_by_log)
    return std::nullopt;
  const Result<bool> about = is_about(*body, wanted);
  return about && *about ? time : std::nullopt;
}

// Whether the authority of the trusted root signed the response, and not another with a certificate by the
// same root. A chain that begins with a certificate authority names no signer.
bool is_by(TS_RESP* response, const Authority& authority) {
  X509* const named = authority.chain.front().get();
  if (X509_check_ca(named) != 0)
    return true;
  const std::unique_ptr<STACK_OF(X509), decltype([](STACK_OF(X509) * stack) { sk_X509_free(stack); })> known(
      sk_X509_new_null());
  for (const Certificate& each : authority.chain)
    sk_X509_push(known.get(), each.get());
  const std::unique_ptr<STACK_OF(X509), decltype([](STACK_OF(X509) * stack) { sk_X509_free(stack); })>
      signers(PKCS7_get0_signers(TS_RESP_get_token(response), known.get(), 0));
  return signers && sk_X509_num(signers.get()) == 1 && X509_cmp(sk_X509_value(signers.get(), 0), named) == 0;
}

std::optional<int64_t> seconds_of(const ASN1_GENERALIZEDTIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1)
    return std::nullopt;
  return static_cast<int64_t>(timegm(&parts));
}

// The time in a response of a timestamp authority (RFC 3161) to a request for the signature.
std::optional<int64_t> time_of_response(const std::string& der, const std::string& signature,
                                        const std::vector<Authority>& authorities) {
  if (der.size() > largest_response)
    return std::nullopt;
  const unsigned char* at = bytes_of(der);
  const std::unique_ptr<TS_RESP, Frees<TS_RESP_free>> response(
      d2i_TS_RESP(nullptr, &at, static_cast<long>(der.size())));
  TS_TST_INFO* const info = response ? TS_RESP_get_tst_info(response.get()) : nullptr;
  const std::optional<int64_t> time = info ? seconds_of(TS_TST_INFO_get_time(info)) : std::nullopt;
  if (!time)
    return std::nullopt;
  for (const Authority& authority : authorities) {
    if (!authority.valid.contains(*time))
      continue;
    X509_STORE* const store = X509_STORE_new(); // the context's, from when it is set
    STACK_OF(X509)* const certificates = sk_X509_new_null();
    X509_VERIFY_PARAM* const parameters = X509_STORE_get0_param(store);
    X509_VERIFY_PARAM_set_time(parameters, *time);
    X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
    for (const Certificate& each : authority.chain) {
      X509_STORE_add_cert(store, each.get());
      X509_up_ref(each.get());
      sk_X509_push(certificates, each.get());
    }
    const std::unique_ptr<TS_VERIFY_CTX, Frees<TS_VERIFY_CTX_free>> context(TS_VERIFY_CTX_new());
    TS_VERIFY_CTX_set_flags(context.get(), TS_VFY_VERSION | TS_VFY_SIGNATURE | TS_VFY_DATA);
    BIO* const data = BIO_new_mem_buf(signature.data(), static_cast<int>(signature.size()));
#if OPENSSL_VERSION_NUMBER >= 0x30400000L // which deprecates the other names
    TS_VERIFY_CTX_set0_store(context.get(), store);
    TS_VERIFY_CTX_set0_certs(context.get(), certificates);
    TS_VERIFY_CTX_set0_data(context.get(), data);
#else
    TS_VERIFY_CTX_set_store(context.get(), store);
    TS_VERIFY_CTX_set_certs(context.get(), certificates);
    TS_VERIFY_CTX_set_data(context.get(), data);
#endif
    if (TS_RESP_verify_response(context.get(), response.get()) == 1 && is_by(response.get(), authority))
      return time;
  }
  return std::nullopt;
}

std::vector<JsonReader> proofs_at(const std::optional<JsonReader>& reader, const std::string& key) {
  const std::optional<JsonReader> list = reader ? reader->find(key) : std::nullopt;
  const Result<std::vector<JsonReader>> items =
      list ? list->items() : Result<std::vector<JsonReader>>(std::vector<JsonReader>());
  return items && items->size() <= most_proofs ? *items : std::vector<JsonReader>();
}

} // namespace

std::vector<int64_t> proven_times(const JsonReader& material, const SignedPayload& signed_payload,
                                  const TrustedRoot::Content& root) {
  const CleanErrors clean;
  std::vector<int64_t> times;
  for (const JsonReader& entry : proofs_at(material, "tlogEntries"))
    if (const auto time = time_of_entry(entry, signed_payload, root.logs))
      times.push_back(*time);
  for (const JsonReader& each : proofs_at(material.find("timestampVerificationData"), "rfc3161Timestamps"))
    if (const auto der = bytes_at(each, "signedTimestamp"))
      if (const auto time = time_of_response(*der, signed_payload.signature, root.timestamp_authorities))
        times.push_back(*time);
  return times;
}

} // namespace xaas::provenance
