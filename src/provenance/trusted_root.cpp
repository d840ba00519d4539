#include "trusted_root.h"

#include <xaas/base/base64.h>
#include <xaas/base/json.h>
#include <xaas/base/text.h>

#include <openssl/pem.h>

#include <ctime>
#include <initializer_list>

namespace xaas::provenance {

namespace {

constexpr uint64_t largest_root = uint64_t(4) << 20;
constexpr size_t most_entries = 64; // of a list

Result<std::string> decoded(const JsonReader& reader) {
  XAAS_TRY(const std::string text, reader.string());
  std::optional<std::string> bytes = decode_base64(text);
  if (!bytes || bytes->empty())
    return reader.wrong("base64");
  return *std::move(bytes);
}

Result<std::vector<JsonReader>> items_at(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> list = reader.find(key);
  if (!list)
    return std::vector<JsonReader>();
  XAAS_TRY(std::vector<JsonReader> items, list->items());
  if (items.size() > most_entries)
    return make_error(ErrorKind::usage, list->where() + ": more than " + std::to_string(most_entries));
  return items;
}

Result<void> read_limit(const JsonReader& period, const std::string& key, int64_t& limit) {
  const std::optional<JsonReader> found = period.find(key);
  if (!found)
    return {};
  XAAS_TRY(const std::string text, found->string());
  const std::optional<int64_t> time = parse_utc(text);
  if (!time)
    return found->wrong("a time in UTC");
  limit = *time;
  return {};
}

Result<Period> read_period(const JsonReader& reader) {
  Period period;
  if (const std::optional<JsonReader> found = reader.find("validFor")) {
    XAAS_CHECK(read_limit(*found, "start", period.start));
    XAAS_CHECK(read_limit(*found, "end", period.end));
  }
  return period;
}

Result<Authority> read_authority(const JsonReader& reader) {
  Authority authority;
  XAAS_TRY(authority.valid, read_period(reader));
  XAAS_TRY(const JsonReader chain, reader.at("certChain"));
  XAAS_TRY(const std::vector<JsonReader> certificates, items_at(chain, "certificates"));
  for (const JsonReader& each : certificates) {
    XAAS_TRY(const JsonReader raw, each.at("rawBytes"));
    XAAS_TRY(const std::string der, decoded(raw));
    Certificate certificate = parse_certificate(der);
    if (!certificate)
      return raw.wrong("a certificate in DER");
    authority.chain.push_back(std::move(certificate));
  }
  if (authority.chain.empty())
    return chain.wrong("certificates");
  return authority;
}

// A key as SubjectPublicKeyInfo in DER; older logs have RSA keys in the form of PKCS #1.
std::string key_info_of(const std::string& der) {
  const unsigned char* at = bytes_of(der);
  const std::unique_ptr<EVP_PKEY, Frees<EVP_PKEY_free>> key(
      d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, static_cast<long>(der.size())));
  unsigned char* info = nullptr;
  const int size = key && at == bytes_of(der) + der.size() ? i2d_PUBKEY(key.get(), &info) : 0;
  if (size <= 0)
    return der;
  std::string made(reinterpret_cast<const char*>(info), static_cast<size_t>(size));
  OPENSSL_free(info);
  return made;
}

// The key of a log in DER.
Result<std::string> key_at(const JsonReader& log) {
  XAAS_TRY(const JsonReader key, log.at("publicKey"));
  XAAS_TRY(const JsonReader raw, key.at("rawBytes"));
  XAAS_TRY(const std::string bytes, decoded(raw));
  return key_info_of(bytes);
}

// Absent for a key of a kind that we do not know: what it signed is not accepted, and the others are.
Result<std::optional<Log>> read_log(const JsonReader& reader) {
  XAAS_TRY(const std::string der, key_at(reader));
  XAAS_TRY(const JsonReader public_key, reader.at("publicKey"));
  XAAS_TRY(const Period period, read_period(public_key));
  Result<PublicKey> key = PublicKey::parse_der(der, public_key.where());
  if (!key)
    return std::optional<Log>();
  const Digest digest = digest_of(der);
  std::string id(reinterpret_cast<const char*>(digest.bytes().data()), Digest::size);
  return std::optional(Log{std::move(id), *std::move(key), period, nullptr});
}

// OpenSSL reads logs of certificates from files only.
Result<std::optional<Log>> read_certificate_log(const JsonReader& reader) {
  XAAS_TRY(std::optional<Log> log, read_log(reader));
  if (!log)
    return log;
  XAAS_TRY(const std::string der, key_at(reader));
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  const fs::path file = directory.path() / "logs";
  XAAS_CHECK(write_file(
      file, "enabled_logs = log\n[log]\ndescription = log\nkey = " + encode_base64(der) + "\n", 0600, false));
  log->store = std::shared_ptr<CTLOG_STORE>(CTLOG_STORE_new(), CTLOG_STORE_free);
  return CTLOG_STORE_load_file(log->store.get(), file.c_str()) == 1 ? log : std::optional<Log>();
}

Result<std::optional<Authority>> read_optional_authority(const JsonReader& reader) {
  XAAS_TRY(Authority authority, read_authority(reader));
  return std::optional(std::move(authority));
}

template <typename Entry>
Result<void> read_list(const JsonReader& root, const char* key,
                       Result<std::optional<Entry>> (*read)(const JsonReader&), std::vector<Entry>& entries) {
  XAAS_TRY(const std::vector<JsonReader> items, items_at(root, key));
  for (const JsonReader& item : items) {
    XAAS_TRY(std::optional<Entry> entry, read(item));
    if (entry)
      entries.push_back(*std::move(entry));
  }
  return {};
}

} // namespace

std::optional<int64_t> parse_utc(const std::string& text) {
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest)
    return std::nullopt;
  if (*rest == '.')
    while (is_digit(*++rest)) {
    }
  if (std::string_view(rest) != "Z")
    return std::nullopt;
  return static_cast<int64_t>(timegm(&parts));
}

Result<TrustedRoot> TrustedRoot::read(const fs::path& file) {
  const Result<std::string> text = read_file(file, largest_root);
  if (!text && text.error().kind == ErrorKind::integrity)
    return make_error(ErrorKind::usage, file.string() + ": is not a trusted root: it is too large");
  if (!text)
    return text.error();
  return parse(*text, file.string());
}

Result<TrustedRoot> TrustedRoot::parse(const std::string& text, const std::string& name) {
  const CleanErrors clean;
  XAAS_TRY(const Json json, parse_json(text, name));
  const JsonReader root(json, name, ErrorKind::usage);
  auto content = std::make_shared<Content>();
  XAAS_CHECK(
      read_list(root, "certificateAuthorities", read_optional_authority, content->certificate_authorities));
  XAAS_CHECK(
      read_list(root, "timestampAuthorities", read_optional_authority, content->timestamp_authorities));
  XAAS_CHECK(read_list(root, "tlogs", read_log, content->logs));
  XAAS_CHECK(read_list(root, "ctlogs", read_certificate_log, content->certificate_logs));
  XAAS_TRY(const std::vector<JsonReader> certificate_logs, items_at(root, "ctlogs"));
  content->wants_certificate_logs = !certificate_logs.empty();
  if (content->certificate_authorities.empty())
    return make_error(ErrorKind::usage, name + ": is not a trusted root: it has no certificateAuthorities",
                      "`cosign trusted-root create` writes one; Sigstore's public one is trusted_root.json");
  if (content->logs.empty() && content->timestamp_authorities.empty())
    return make_error(ErrorKind::usage, name +
                                            ": has neither tlogs nor timestampAuthorities, so nothing tells "
                                            "when something was signed");
  TrustedRoot made;
  made.name_ = name;
  made.content_ = std::move(content);
  return made;
}

} // namespace xaas::provenance
