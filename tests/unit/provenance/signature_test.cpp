#include "bundle.h"
#include "provenance/testing.h"

#include <xaas/oci/referrers.h>

namespace xaas::provenance {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class Signatures : public ::testing::Test {
protected:
  void SetUp() override { digest_ = *oci::write_image(reference("app"), image_with("a", "content")); }

  fs::path layout() const { return directory_.path() / "layout"; }
  oci::Reference reference(const std::string& tag) const {
    return *oci::parse_reference("oci:" + layout().string() + ":" + tag);
  }
  void sign(std::vector<oci::NewLayer> layers) { sign(digest_, std::move(layers)); }
  void sign(const Digest& digest, std::vector<oci::NewLayer> layers) {
    const auto written =
        oci::write_image(reference("sha256-" + digest.hex() + ".sig"), signature_image(std::move(layers)));
    ASSERT_TRUE(written) << written.error().message;
  }
  Result<Signature> check(const KeyPair& key, const std::string& tag = "app") const {
    XAAS_TRY(const auto image, oci::open_image(reference(tag)));
    return check_signature(*image, key.public_key(), {});
  }
  // The message of an integrity error.
  std::string refusal(const KeyPair& key, const std::string& tag = "app") const {
    const auto refused = check(key, tag);
    EXPECT_FALSE(refused);
    if (refused)
      return "good";
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
    return refused.error().message;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  Digest digest_;
  KeyPair key_ = KeyPair::curve();
};

TEST_F(Signatures, AGoodOne) {
  sign({signature_layer(key_, digest_)});
  const auto signature = check(key_);
  ASSERT_TRUE(signature) << signature.error().message;
  EXPECT_EQ(signature->image, digest_);
  EXPECT_EQ(signature->key, key_.public_key().fingerprint());
}

TEST_F(Signatures, OfEveryKindOfKey) {
  const std::string payload = payload_of(digest_);
  const KeyPair p384 = KeyPair::curve("P-384"), p521 = KeyPair::curve("P-521"), rsa = KeyPair::rsa(),
                ed25519 = KeyPair::ed25519();
  const std::vector<std::pair<const KeyPair*, std::string>> all = {
      {&p384, p384.sign(payload)},
      {&p384, p384.sign(payload, EVP_sha384())},
      {&p521, p521.sign(payload, EVP_sha512())},
      {&rsa, rsa.sign(payload)},
      {&rsa, rsa.sign(payload, EVP_sha256(), Padding::pss)},
      {&ed25519, ed25519.sign(payload)}};
  for (const auto& [key, signature] : all) {
    sign({signature_layer(payload, base64(signature))});
    const auto found = check(*key);
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_THAT(refusal(key_), HasSubstr("not by this key"));
  }
}

TEST_F(Signatures, NoneAtAll) {
  EXPECT_THAT(refusal(key_), HasSubstr("not signed"));
  sign({});
  EXPECT_THAT(refusal(key_), HasSubstr("holds none"));
}

TEST_F(Signatures, OfAnotherKeyOrAnotherImage) {
  const KeyPair other = KeyPair::curve();
  const Digest another = digest_of("another image");
  sign({signature_layer(other, digest_), signature_layer(key_, another)});
  const std::string message = refusal(key_);
  EXPECT_THAT(message, HasSubstr("not by this key"));
  EXPECT_THAT(message, HasSubstr("of another image, " + another.to_string()));
}

TEST_F(Signatures, OneGoodOneIsEnough) {
  const std::string payload = payload_of(digest_);
  oci::NewLayer without = signature_layer(payload, "");
  without.descriptor.annotations.clear();
  sign({signature_layer(KeyPair::curve(), digest_), signature_layer(payload + " ", "no base64!"),
        signature_layer(payload + "  ", base64("no signature")), signature_layer(key_, digest_of("x")),
        signature_layer(key_, digest_)});
  EXPECT_TRUE(check(key_));
}

TEST_F(Signatures, EveryByteOfPayloadAndSignatureCounts) {
  const std::string payload = payload_of(digest_), signature = key_.sign(payload);
  const PublicKey key = key_.public_key();
  ASSERT_TRUE(key.verifies(payload, signature));
  for (size_t i = 0; i < payload.size(); ++i) {
    std::string changed = payload;
    changed[i] ^= 1;
    EXPECT_FALSE(key.verifies(changed, signature)) << i;
  }
  for (size_t i = 0; i < signature.size(); ++i) {
    std::string changed = signature;
    changed[i] ^= 1;
    EXPECT_FALSE(key.verifies(payload, changed)) << i;
    EXPECT_FALSE(key.verifies(payload, signature.substr(0, i))) << i;
  }
  EXPECT_FALSE(key.verifies(payload, signature + "x"));
}

TEST_F(Signatures, ADamagedPayload) {
  const oci::NewLayer layer = signature_layer(key_, digest_);
  sign({layer});
  const fs::path blob = layout() / "blobs/sha256" / layer.descriptor.digest.hex();
  ASSERT_TRUE(write_file(blob, std::string(layer.descriptor.size, 'x')));
  EXPECT_THAT(refusal(key_), HasSubstr("damaged payload"));
  fs::remove(blob);
  EXPECT_THAT(refusal(key_), HasSubstr("damaged payload"));
}

TEST_F(Signatures, OfSomethingElse) {
  for (const std::string& payload :
       {std::string("{}"), std::string("[]"), std::string("no JSON"), std::string(R"({"critical":{}})"),
        Json{{"critical",
              {{"type", "atomic container signature"},
               {"image", {{"docker-manifest-digest", digest_.to_string()}}}}}}
            .dump(),
        Json{{"critical",
              {{"type", "cosign container image signature"}, {"image", {{"docker-manifest-digest", "x"}}}}}}
            .dump()}) {
    EXPECT_EQ(signed_digest(payload).error().kind, ErrorKind::integrity) << payload;
    sign({signature_layer(payload, base64(key_.sign(payload)))});
    EXPECT_THAT(refusal(key_), HasSubstr("something else than an image")) << payload;
  }
  EXPECT_EQ(*signed_digest(payload_of(digest_)), digest_);
}

// Of an image that is chosen from an index either can be signed, and nothing else.
TEST_F(Signatures, OfAnIndexOrOfTheManifestInIt) {
  const fs::path manifest = layout() / "blobs/sha256" / digest_.hex();
  const std::string entry = Json{{"mediaType", oci::media_type::manifest},
                                 {"digest", digest_.to_string()},
                                 {"size", fs::file_size(manifest)},
                                 {"platform", {{"os", "linux"}, {"architecture", "amd64"}}}}
                                .dump();
  const std::string index = R"({"schemaVersion":2,"mediaType":")" + std::string(oci::media_type::index) +
                            R"(","manifests":[)" + entry + "]}";
  const Digest index_digest = digest_of(index);
  ASSERT_TRUE(write_file(layout() / "blobs/sha256" / index_digest.hex(), index));
  Json top = *read_json(layout() / "index.json");
  top["manifests"].push_back({{"mediaType", oci::media_type::index},
                              {"digest", index_digest.to_string()},
                              {"size", index.size()},
                              {"annotations", {{"org.opencontainers.image.ref.name", "multi"}}}});
  ASSERT_TRUE(write_file(layout() / "index.json", top.dump()));
  EXPECT_THAT(refusal(key_, "multi"), HasSubstr("sha256-" + index_digest.hex()));

  sign(index_digest, {signature_layer(key_, index_digest)});
  auto signature = check(key_, "multi");
  ASSERT_TRUE(signature) << signature.error().message;
  EXPECT_EQ(signature->image, index_digest);
  EXPECT_THAT(refusal(key_, "app"), HasSubstr("not signed"));

  sign(index_digest, {signature_layer(key_, digest_)}); // under the wrong tag
  EXPECT_THAT(refusal(key_, "multi"), HasSubstr("another image"));
  sign({signature_layer(key_, digest_)});
  signature = check(key_, "multi");
  ASSERT_TRUE(signature) << signature.error().message;
  EXPECT_EQ(signature->image, digest_);
}

// A layout with a signature in it still has one image for who gives no tag.
TEST_F(Signatures, AreNoImagesOfTheirOwn) {
  sign({signature_layer(key_, digest_)});
  const auto image = oci::open_image(*oci::parse_reference("oci:" + layout().string()));
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ((*image)->digest(), digest_);
}

TEST_F(Signatures, TooMany) {
  std::vector<oci::NewLayer> layers;
  const std::string payload = payload_of(digest_);
  for (int i = 0; i < 300; ++i)
    layers.push_back(signature_layer(payload, base64("x" + std::to_string(i))));
  layers.push_back(signature_layer(key_, digest_));
  sign(layers);
  EXPECT_THAT(refusal(key_), HasSubstr("more than"));
}

class Bundles : public Signatures {
protected:
  void SetUp() override {
    Signatures::SetUp();
    const auto image = oci::open_image(reference("app"));
    ASSERT_TRUE(image);
    subject_ = {oci::media_type::manifest, digest_, (*image)->manifest_size(), {}};
  }
  void attach(const std::string& bundle,
              const std::string& type = "application/vnd.dev.sigstore.bundle.v0.3+json") {
    const auto attached = oci::attach(reference("app"), {type, bundle, subject_, {}});
    ASSERT_TRUE(attached) << attached.error().message;
  }
  oci::Descriptor subject_;
};

TEST_F(Bundles, OfEveryKindOfKey) {
  for (const KeyPair& key : {KeyPair::curve(), KeyPair::rsa(), KeyPair::ed25519()}) {
    EXPECT_FALSE(check(key));
    attach(Bundle().by(key, digest_));
    const auto signature = check(key);
    ASSERT_TRUE(signature) << signature.error().message;
    EXPECT_EQ(signature->image, digest_);
    EXPECT_EQ(signature->key, key.public_key().fingerprint());
  }
}

TEST_F(Bundles, WhatIsNoSignatureOfTheImage) {
  const KeyPair other = KeyPair::curve();
  attach(Bundle().by(other, digest_));
  EXPECT_THAT(refusal(key_), HasSubstr("not by this key"));
  attach(Bundle().by(key_, digest_of("another image")));
  EXPECT_THAT(refusal(key_), HasSubstr("of another image"));
  attach(Bundle{.predicate = "https://slsa.dev/provenance/v1"}.by(key_, digest_));
  EXPECT_THAT(refusal(key_), HasSubstr("an attestation"));
  attach(Bundle{.type = "text/plain"}.by(key_, digest_));
  EXPECT_THAT(refusal(key_), HasSubstr("something else"));
  attach(Bundle{.with_certificate = true}.by(other, digest_));
  EXPECT_THAT(refusal(key_), HasSubstr("a certificate"));
  // The payload is what is signed, not what it is encoded as for signing.
  attach(Bundle().made_of(Bundle().statement(digest_), key_.sign(Bundle().statement(digest_))));
  EXPECT_FALSE(check(key_));
  // An artifact of another type.
  attach(Bundle().by(key_, digest_), "application/json");
  EXPECT_FALSE(check(key_));
  attach(Bundle().by(key_, digest_)); // one good one is enough
  EXPECT_TRUE(check(key_));
}

// Whatever else is there: a foreign image under the tag of signatures, a damaged entry of the layout.
TEST_F(Bundles, OneGoodOneIsEnough) {
  attach(Bundle().by(key_, digest_));
  ASSERT_TRUE(
      oci::write_image(reference("sha256-" + digest_.hex() + ".sig"), image_with("b", "no signature")));
  EXPECT_TRUE(check(key_));
  const fs::path file = layout() / "index.json";
  Json index = Json::parse(*read_file(file, 1 << 20));
  index["manifests"].push_back(
      {{"mediaType", oci::media_type::manifest}, {"digest", "sha512:1"}, {"size", 1}});
  ASSERT_TRUE(write_file(file, index.dump()));
  EXPECT_TRUE(check(key_));
}

// As go-containerregistry lists a bundle in a registry without the referrers API.
TEST_F(Bundles, TheManifestStatesTheType) {
  attach(Bundle().by(key_, digest_));
  const fs::path file = layout() / "index.json";
  Json index = Json::parse(*read_file(file, 1 << 20));
  for (Json& entry : index["manifests"])
    if (entry.contains("artifactType"))
      entry["artifactType"] = "application/vnd.oci.empty.v1+json";
  ASSERT_TRUE(write_file(file, index.dump()));
  EXPECT_TRUE(check(key_));
}

TEST_F(Bundles, Malformed) {
  const std::string good = Bundle().by(key_, digest_);
  for (const std::string& bad :
       {std::string(), std::string("no"), std::string("[]"), std::string("{}"),
        std::string(R"({"dsseEnvelope": 1})"),
        std::string(R"({"dsseEnvelope": {"payload": "!", "payloadType": "x", "signatures": []}})"),
        good.substr(0, good.size() / 2)}) {
    EXPECT_FALSE(why_not_valid(bad, key_.public_key(), digest_).empty()) << bad;
  }
  EXPECT_EQ(why_not_valid(good, key_.public_key(), digest_), "");
  // Each changed character of the payload or of the signature.
  const Json json = Json::parse(good);
  for (const char* pointer :
       {"/dsseEnvelope/payload", "/dsseEnvelope/signatures/0/sig", "/dsseEnvelope/payloadType"}) {
    const std::string text = json[Json::json_pointer(pointer)];
    for (size_t i = 0; i < text.size() && text[i] != '='; ++i) {
      Json changed = json;
      std::string other = text;
      other[i] = other[i] == 'A' ? 'B' : 'A';
      // The last character of a group may have bits that mean nothing.
      if (i + 1 < text.size() && text[i + 1] == '=')
        continue;
      changed[Json::json_pointer(pointer)] = other;
      EXPECT_NE(why_not_valid(changed.dump(), key_.public_key(), digest_), "") << pointer << " " << i;
    }
  }
}

TEST(PublicKeys, WhatIsNone) {
  const auto refusal = [](const std::string& pem) {
    const auto key = PublicKey::parse(pem, "key.pub");
    EXPECT_FALSE(key);
    if (key)
      return std::string("taken");
    EXPECT_EQ(key.error().kind, ErrorKind::usage);
    EXPECT_THAT(key.error().hint, HasSubstr("cosign.pub"));
    return key.error().message;
  };
  EXPECT_THAT(refusal(""), HasSubstr("not a public key"));
  EXPECT_THAT(refusal("ssh-ed25519 AAAA"), HasSubstr("not a public key"));
  EXPECT_THAT(refusal(KeyPair::curve().pem(true)), HasSubstr("private key"));
  EXPECT_THAT(refusal("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n"
                      "-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n"),
              HasSubstr("private key"));
  EXPECT_THAT(refusal("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
              HasSubstr("CERTIFICATE"));
  EXPECT_THAT(refusal("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), HasSubstr("damaged"));
  EXPECT_THAT(refusal(KeyPair::rsa(1024).pem()), HasSubstr("1024 bits"));
  EXPECT_THAT(refusal(KeyPair::curve("secp256k1").pem()), HasSubstr("curve"));
  EXPECT_THAT(refusal(KeyPair(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519")).pem()),
              HasSubstr("another kind"));
  std::string pem = KeyPair::curve().pem();
  pem[pem.size() / 2] = '!';
  EXPECT_THAT(refusal(pem), HasSubstr("damaged"));
}

TEST(PublicKeys, Files) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  EXPECT_EQ(PublicKey::read(directory.path() / "none").error().kind, ErrorKind::not_found);
  ASSERT_TRUE(write_file(directory.path() / "large", std::string(100'000, 'x')));
  EXPECT_EQ(PublicKey::read(directory.path() / "large").error().kind, ErrorKind::usage);
  const KeyPair pair = KeyPair::curve();
  ASSERT_TRUE(write_file(directory.path() / "key", pair.pem()));
  const auto key = PublicKey::read(directory.path() / "key");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->fingerprint(), pair.public_key().fingerprint());
  EXPECT_NE(key->fingerprint(), KeyPair::curve().public_key().fingerprint());
}

} // namespace
} // namespace xaas::provenance
