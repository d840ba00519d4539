// Signatures of images, as cosign makes them with a key pair (`cosign sign --key`) or, in bundles, with an
// identity (`cosign sign`). Sources: sigstore/cosign, specs/SIGNATURE_SPEC.md and specs/BUNDLE_SPEC.md.
//
// Cosign 3 attaches a Sigstore bundle to the image (OCI referrers), which holds a signed statement with the
// image's digest. The signatures of cosign 2 of the image with the digest sha256:<hex> form an image in the
// same repository or layout, with the tag `sha256-<hex>.sig`. Each of its layers is a small JSON document
// (the payload) that names the digest, and the layer's annotation `dev.cosignproject.cosign/signature` is the
// base64 signature over these bytes. With a key, no transparency log or certificate authority matters. For an
// identity, what they signed is in the bundle, and their keys are in a file, so the only connection is to the
// registry of the image.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/provenance/trusted_root.h>
#include <xaas/registry/images.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace xaas::provenance {

// A key for checking signatures: ECDSA on P-256, P-384 or P-521, RSA of at least 2048 bits, or Ed25519.
class PublicKey {
public:
  // Reads a PEM file with a SubjectPublicKeyInfo (RFC 5280), such as `cosign.pub`. A missing file is
  // not_found; anything but such a key is a usage error.
  static Result<PublicKey> read(const fs::path& file);
  // `name` is for messages.
  static Result<PublicKey> parse(const std::string& pem, const std::string& name);
  static Result<PublicKey> parse_der(std::string_view der, const std::string& name);

  // Whether these bytes are a valid signature over the message: ECDSA (DER) over SHA-256 or the digest that
  // matches the curve, RSA with PKCS #1 v1.5 or PSS over SHA-256, or Ed25519.
  bool verifies(std::string_view message, std::string_view signature) const;

  const std::string& name() const { return name_; }
  // SHA-256 of the key in DER, which identifies it.
  const Digest& fingerprint() const { return fingerprint_; }

private:
  std::shared_ptr<void> key_;
  std::string name_;
  Digest fingerprint_;
};

// The digest that a payload declares as signed. Call it only after checking the signature over the payload.
// Integrity error if the payload is not one of cosign's.
Result<Digest> signed_digest(const std::string& payload);

// Somebody to whom a certificate authority of the trusted root gave a certificate.
struct Identity {
  std::string name;   // an email address, or a URI such as that of a workflow; exact
  std::string issuer; // the OpenID Connect provider that knows it; exact
  TrustedRoot root;
};

// Who must have signed.
using Signer = std::variant<PublicKey, Identity>;

struct Signature {
  Digest image;              // the signed digest: of the manifest, or of the index from which it was chosen
  std::optional<Digest> key; // PublicKey::fingerprint
  std::string identity, issuer; // instead of a key
};

// Looks for a signature by this signer of an opened image: of its manifest, or of the index that its
// reference names. One valid signature suffices, whatever the others are. No signature, or no valid one, is
// an integrity error that says what was found. Other errors are those of opening images.
Result<Signature> check_signature(const oci::Image& image, const Signer& signer,
                                  const registry::Access& access);

} // namespace xaas::provenance
