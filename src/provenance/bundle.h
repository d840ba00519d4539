// Sigstore bundles, in which cosign 3 stores signatures by default: artifacts that refer to the image.
// Sources: sigstore/protobuf-specs (sigstore_bundle.proto, in JSON), secure-systems-lab/dsse (protocol.md,
// the envelope and the encoding that is signed), in-toto/attestation (spec/v1/statement.md).
//
// A bundle holds an envelope, whose payload is a statement about subjects, each named by its digest. The kind
// of statement is its predicate type: one is the signature of an image. A bundle of another kind is an
// attestation, such as of the provenance, and no signature of the image, though it is signed and names it.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/provenance/signature.h>

#include <string>

namespace xaas::provenance {

// Why a signature that a key does not verify may be valid all the same.
inline constexpr const char* by_certificate = "by an identity with a certificate, not by a key";

// Whether a media type is that of a bundle, of any version.
bool is_bundle_type(const std::string& media_type);

// Why a bundle is not a valid signature by this signer of the image with this digest, as a phrase that
// continues "signatures: ..."; empty if it is one. For a key, certificates and logs are not examined.
std::string why_not_valid(const std::string& bundle, const Signer& signer, const Digest& wanted);

} // namespace xaas::provenance
