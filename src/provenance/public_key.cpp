#include "openssl.h"

#include <xaas/base/base64.h>
#include <xaas/provenance/signature.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <vector>

namespace xaas::provenance {

namespace {

constexpr uint64_t max_key_file = 64 * 1024;
constexpr int min_rsa_bits = 2048;
constexpr const char* way_out =
    "the public key in PEM form, as `cosign generate-key-pair` writes it to cosign.pub";

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

EVP_PKEY* key_of(const std::shared_ptr<void>& key) {
  return static_cast<EVP_PKEY*>(key.get());
}

// The digest used with a curve besides SHA-256; nullptr for an unsupported curve.
const EVP_MD* digest_of_curve(EVP_PKEY* key) {
  char name[64] = {};
  size_t size = 0;
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof(name), &size) != 1)
    return nullptr;
  const std::string_view curve(name, size);
  return curve == "prime256v1"  ? EVP_sha256()
         : curve == "secp384r1" ? EVP_sha384()
         : curve == "secp521r1" ? EVP_sha512()
                                : nullptr;
}

enum class Padding { none, pss };

bool check(EVP_PKEY* key, const EVP_MD* digest, Padding padding, std::string_view message,
           std::string_view signature) {
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr; // owned by the context
  if (!context || EVP_DigestVerifyInit(context.get(), &parameters, digest, nullptr, key) != 1)
    return false;
  if (padding == Padding::pss && (EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) != 1 ||
                                  EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_AUTO) != 1))
    return false;
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  };
  return EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message),
                          message.size()) == 1;
}

// The label of the first PEM block.
std::string label_of(const std::string& pem) {
  constexpr std::string_view start = "-----BEGIN ";
  const size_t begin = pem.find(start);
  const size_t end = begin == std::string::npos ? begin : pem.find("-----", begin + start.size());
  if (end == std::string::npos || end - begin > 80)
    return {};
  return pem.substr(begin + start.size(), end - begin - start.size());
}

} // namespace

Result<PublicKey> PublicKey::read(const fs::path& file) {
  Result<std::string> pem = read_file(file, max_key_file);
  if (!pem) {
    if (pem.error().kind == ErrorKind::integrity) // too large
      return make_error(ErrorKind::usage, file.string() + ": not a public key", way_out);
    return std::move(pem).error();
  }
  return parse(*pem, file.string());
}

Result<PublicKey> PublicKey::parse(const std::string& pem, const std::string& name) {
  const auto refused = [&](const std::string& why) {
    ERR_clear_error();
    return make_error(ErrorKind::usage, name + ": " + why, way_out);
  };
  const std::string label = label_of(pem);
  if (label.find("PRIVATE KEY") != std::string::npos)
    return refused("a private key; signatures are checked with the public one");
  if (label != "PUBLIC KEY")
    return refused(label.empty() ? "not a public key: it has no PEM block"
                                 : "not a public key but a PEM block '" + label + "'");
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  PublicKey key;
  key.name_ = name;
  key.key_ =
      std::shared_ptr<void>(bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr) : nullptr,
                            [](void* pointer) { EVP_PKEY_free(static_cast<EVP_PKEY*>(pointer)); });
  EVP_PKEY* const read = key_of(key.key_);
  if (!read)
    return refused("not a public key: its PEM block is damaged");
  if (EVP_PKEY_is_a(read, "EC")) {
    if (!digest_of_curve(read))
      return refused("an elliptic curve other than P-256, P-384 and P-521");
  } else if (EVP_PKEY_is_a(read, "RSA")) {
    if (EVP_PKEY_get_bits(read) < min_rsa_bits)
      return refused("an RSA key of " + std::to_string(EVP_PKEY_get_bits(read)) + " bits; at least " +
                     std::to_string(min_rsa_bits) + " are required");
  } else if (!EVP_PKEY_is_a(read, "ED25519")) {
    return refused("a key of another kind than ECDSA, RSA and Ed25519");
  }
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(read, &der);
  if (size <= 0)
    return refused("not a public key that can be written in DER");
  key.fingerprint_ = digest_of({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  ERR_clear_error();
  return key;
}

Result<PublicKey> PublicKey::parse_der(std::string_view der, const std::string& name) {
  constexpr size_t line = 64; // RFC 7468
  const std::string text = encode_base64(der);
  std::string pem = "-----BEGIN PUBLIC KEY-----\n";
  for (size_t at = 0; at < text.size(); at += line)
    pem += text.substr(at, line) + "\n";
  return parse(pem + "-----END PUBLIC KEY-----\n", name);
}

bool PublicKey::verifies(std::string_view message, std::string_view signature) const {
  EVP_PKEY* const key = key_of(key_);
  bool good = false;
  if (EVP_PKEY_is_a(key, "ED25519")) {
    good = check(key, nullptr, Padding::none, message, signature);
  } else if (EVP_PKEY_is_a(key, "RSA")) {
    good = check(key, EVP_sha256(), Padding::none, message, signature) ||
           check(key, EVP_sha256(), Padding::pss, message, signature);
  } else {
    const EVP_MD* const curve = digest_of_curve(key);
    good = check(key, EVP_sha256(), Padding::none, message, signature) ||
           (EVP_MD_get_type(curve) != EVP_MD_get_type(EVP_sha256()) &&
            check(key, curve, Padding::none, message, signature));
  }
  ERR_clear_error();
  return good;
}

} // namespace xaas::provenance
