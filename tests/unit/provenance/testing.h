// Keys, and signatures as cosign writes them.
#pragma once

#include <xaas/base/json.h>
#include <xaas/oci/layer.h>
#include <xaas/provenance/signature.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <vector>

namespace xaas::provenance::testing {

enum class Padding { none, pss };

class KeyPair {
public:
  explicit KeyPair(EVP_PKEY* key) : key_(key, EVP_PKEY_free) {}
  static KeyPair curve(const char* name = "P-256") { return KeyPair(EVP_EC_gen(name)); }
  static KeyPair rsa(unsigned bits = 2048) { return KeyPair(EVP_RSA_gen(bits)); }
  static KeyPair ed25519() { return KeyPair(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); }

  std::string pem(bool secret = false) const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
    if (secret)
      PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    else
      PEM_write_bio_PUBKEY(bio.get(), key_.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<size_t>(size)};
  }

  PublicKey public_key() const {
    auto key = PublicKey::parse(pem(), "key.pub");
    EXPECT_TRUE(key) << key.error().message;
    return *key;
  }

  std::string sign(const std::string& message, const EVP_MD* digest = EVP_sha256(),
                   Padding padding = Padding::none) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_PKEY_CTX* parameters = nullptr;
    EXPECT_EQ(EVP_DigestSignInit(context.get(), &parameters,
                                 EVP_PKEY_is_a(key_.get(), "ED25519") ? nullptr : digest, nullptr,
                                 key_.get()),
              1);
    if (padding == Padding::pss)
      EXPECT_EQ(EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING), 1);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
    size_t size = 0;
    EXPECT_EQ(EVP_DigestSign(context.get(), nullptr, &size, bytes, message.size()), 1);
    std::string signature(size, '\0');
    EXPECT_EQ(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                             message.size()),
              1);
    signature.resize(size);
    return signature;
  }

private:
  std::shared_ptr<EVP_PKEY> key_;
};

inline std::string base64(const std::string& bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

inline std::string payload_of(const Digest& digest) {
  return Json{{"critical",
               {{"identity", {{"docker-reference", "registry.example/team/app"}}},
                {"image", {{"docker-manifest-digest", digest.to_string()}}},
                {"type", "cosign container image signature"}}},
              {"optional", nullptr}}
      .dump();
}

// One signature: a layer of the image that cosign writes.
inline oci::NewLayer signature_layer(const std::string& payload, const std::string& signature_text) {
  oci::NewLayer layer;
  layer.descriptor = {"application/vnd.dev.cosign.simplesigning.v1+json",
                      digest_of(payload),
                      payload.size(),
                      {{"dev.cosignproject.cosign/signature", signature_text}}};
  layer.diff_id = layer.descriptor.digest;
  layer.open = [payload]() -> Result<oci::BlobPtr> { return oci::blob_of(payload); };
  return layer;
}

inline oci::NewLayer signature_layer(const KeyPair& key, const Digest& digest) {
  const std::string payload = payload_of(digest);
  return signature_layer(payload, base64(key.sign(payload)));
}

inline oci::NewImage signature_image(std::vector<oci::NewLayer> layers) {
  oci::NewImage image;
  image.config.architecture = image.config.os = ""; // as cosign leaves them
  image.layers = std::move(layers);
  return image;
}

inline oci::NewImage image_with(const std::string& path, const std::string& content) {
  oci::NewImage image;
  image.config.created = "2001-02-03T04:05:06Z";
  oci::LayerBuilder builder;
  EXPECT_TRUE(builder.add_file(path, content));
  image.layers = {*builder.finish(oci::Compression::gzip, "test")};
  return image;
}

// A Sigstore bundle as cosign 3 makes it with a key: what is signed is the statement in its envelope.
struct Bundle {
  std::string predicate = "https://sigstore.dev/cosign/sign/v1";
  std::string version = "https://in-toto.io/Statement/v1";
  std::string type = "application/vnd.in-toto+json";
  bool with_certificate = false;

  std::string statement(const Digest& digest) const {
    return Json{{"_type", version},
                {"subject", {{{"digest", {{"sha256", digest.hex()}}}}}},
                {"predicateType", predicate},
                {"predicate", Json::object()}}
        .dump();
  }
  std::string made_of(const std::string& payload, const std::string& signature) const {
    Json material = {{"tlogEntries", Json::array()}};
    if (with_certificate)
      material["certificate"] = {{"rawBytes", base64("a certificate")}};
    else
      material["publicKey"] = {{"hint", "any"}};
    return Json{{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
                {"verificationMaterial", material},
                {"dsseEnvelope",
                 {{"payload", base64(payload)},
                  {"payloadType", type},
                  {"signatures", {{{"sig", base64(signature)}}}}}}}
        .dump();
  }
  std::string by(const KeyPair& key, const Digest& digest) const {
    const std::string payload = statement(digest);
    return made_of(payload, key.sign("DSSEv1 " + std::to_string(type.size()) + " " + type + " " +
                                     std::to_string(payload.size()) + " " + payload));
  }
};

} // namespace xaas::provenance::testing
