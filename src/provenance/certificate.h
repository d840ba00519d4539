// The short-lived certificate that a certificate authority (Fulcio) gives to an identity. Sources:
// sigstore/fulcio, docs/certificate-specification.md and docs/oid-info.md; RFC 5280; RFC 6962, section 3.3.
#pragma once

#include "trusted_root.h"

#include <string>
#include <vector>

namespace xaas::provenance {

struct Identified {
  std::vector<std::string> identities; // email addresses, URIs and user names
  std::string issuer;                  // of the identity: the address of an OpenID Connect provider
};
Identified identities_of(const Certificate& certificate);

// Why the certificate is not one of these authorities' for signing, at this time and with a valid entry in
// one of the logs; empty if it is. Without logs none is asked for.
std::string why_not_certified(const Certificate& certificate, const TrustedRoot::Content& root, int64_t time);

// The certificate's key.
Result<PublicKey> key_of(const Certificate& certificate);

} // namespace xaas::provenance
