// The untrusted parts of a signature: the key file, the payload, a Sigstore bundle, and the trusted root. A
// payload that no key or identity signed must never verify.
#include "bundle.h"
#include "fuzz.h"

#include <xaas/provenance/signature.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace xaas;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<Digest> digest = provenance::signed_digest(text);
  require(digest || digest.error().kind == ErrorKind::integrity, "kind of a payload's error");
  if (digest)
    require(text.find(digest->hex()) != std::string::npos, "a digest of the payload");
  const Result<provenance::PublicKey> key = provenance::PublicKey::parse(text, "key");
  require(key || key.error().kind == ErrorKind::usage, "kind of a key's error");
  if (key)
    require(!key->verifies("message", text), "a signature that nobody made");

  static const Result<provenance::PublicKey> known =
      provenance::PublicKey::parse("-----BEGIN PUBLIC KEY-----\n"
                                   "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYeFRQXIxd0ok3u3/eZnwRcH1OSpA\n"
                                   "9DzJdjXJc+gdah9kvVhNes8VMPD6lOedPIuWL6dUbDxqkS1IJE+5p3WG3w==\n"
                                   "-----END PUBLIC KEY-----\n",
                                   "known");
  require(static_cast<bool>(known), "the key of this target");
  require(!known->verifies(text, text), "a signature that nobody made");
  require(!provenance::why_not_valid(text, *known, digest_of("image")).empty(),
          "a bundle that nobody signed");
  const Result<provenance::TrustedRoot> root = provenance::TrustedRoot::parse(text, "root");
  require(root || root.error().kind == ErrorKind::usage, "kind of a root's error");
  static const std::string trusted = [] {
    const Result<std::string> file = read_file(XAAS_TRUSTED_ROOT);
    require(static_cast<bool>(file), "the trusted root of this target");
    return *file;
  }();
  static const Result<provenance::TrustedRoot> known_root = provenance::TrustedRoot::parse(trusted, "known");
  require(static_cast<bool>(known_root), "the trusted root of this target");
  for (const provenance::TrustedRoot& each : {*known_root, root ? *root : *known_root})
    require(!provenance::why_not_valid(
                 text, provenance::Identity{"user@example.org", "https://issuer.example.org", each},
                 digest_of("image"))
                 .empty(),
            "a bundle of another image");
  return 0;
}
