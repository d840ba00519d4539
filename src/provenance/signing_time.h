// When a signature was made, as somebody says whom the site trusts: a transparency log (Rekor), which signs
// the time at which it took an entry for the signature, or a timestamp authority. A certificate is valid for
// ten minutes, so without such a time it says nothing. Sources: sigstore/rekor, types/dsse and
// openapi.yaml (signedEntryTimestamp); RFC 3161; sigstore/protobuf-specs, sigstore_rekor.proto.
#pragma once

#include "certificate.h"

#include <xaas/base/json.h>

#include <cstdint>
#include <string>
#include <vector>

namespace xaas::provenance {

// What was signed, with which certificate.
struct SignedPayload {
  std::string payload, signature; // bytes
  std::string certificate;        // DER
};

// The times for a signature in a bundle's verificationMaterial that are proven; others are passed over. The
// proof that a log contains its entry (inclusionProof) is not examined: the log's signature promises it.
std::vector<int64_t> proven_times(const JsonReader& material, const SignedPayload& signed_payload,
                                  const TrustedRoot::Content& root);

} // namespace xaas::provenance
