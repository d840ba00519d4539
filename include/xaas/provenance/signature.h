// Signatures of images, as cosign makes them with a key pair (`cosign sign --key`). Source: sigstore/cosign,
// specs/SIGNATURE_SPEC.md.
//
// The signatures of the image with the digest sha256:<hex> are an image in the same place under the tag
// `sha256-<hex>.sig`: each of its layers is a small JSON document (the payload) that names the digest, and
// the layer's annotation `dev.cosignproject.cosign/signature` is the signature over these bytes in base64.
// Nothing is asked of a transparency log or of a certificate authority: the key alone decides, so no
// connection is opened but to the registry where the image is.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/registry/images.h>

#include <memory>
#include <string>
#include <string_view>

namespace xaas::provenance {

// A key to check signatures with: ECDSA on P-256, P-384 or P-521, RSA of at least 2048 bits, or Ed25519.
class PublicKey {
public:
  // A PEM file with a SubjectPublicKeyInfo (RFC 5280), such as `cosign.pub`. One that is not there is
  // not_found; one that is no such key a usage error.
  static Result<PublicKey> read(const fs::path& file);
  // `name` is for messages.
  static Result<PublicKey> parse(const std::string& pem, const std::string& name);

  // Whether these are the bytes of a signature over the message: ECDSA (DER) over SHA-256 or the digest of
  // the curve's size, RSA with PKCS #1 v1.5 or PSS over SHA-256, Ed25519.
  bool verifies(std::string_view message, std::string_view signature) const;

  const std::string& name() const { return name_; }
  // SHA-256 of the key in DER, by which it can be told from others.
  const Digest& fingerprint() const { return fingerprint_; }

private:
  std::shared_ptr<void> key_;
  std::string name_;
  Digest fingerprint_;
};

// The digest that a payload says is signed. To be asked once the signature over the payload was found to be
// good. Integrity error: it is none of cosign's.
Result<Digest> signed_digest(const std::string& payload);

struct Signature {
  Digest image; // whose digest was signed: the manifest's, or that of the index from which it was chosen
  Digest key;   // PublicKey::fingerprint
};

// Looks for a signature of an opened image by this key: of its manifest, or of the index that its reference
// names; one good signature is enough, whatever the others are. None at all, and none that is good, are
// integrity errors that say what there is. Errors of reading it are those of opening images.
Result<Signature> check_signature(const oci::Image& image, const PublicKey& key,
                                  const registry::Access& access);

} // namespace xaas::provenance
