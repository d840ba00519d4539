// Artifacts that refer to an image, wherever it is: oci/referrers.h for layouts, and registries. Source: OCI
// distribution specification 1.1, "Listing Referrers", "Pushing Manifests with Subject", "Unavailable
// Referrers API". A registry that does not know referrers (its API answers 404) keeps them all the same: in
// an index under the tag `sha256-<hex>` of the image's digest.
#pragma once

#include <xaas/oci/referrers.h>
#include <xaas/registry/images.h>

#include <string>
#include <vector>

namespace xaas::registry {

// The artifact beside the image: in its repository or its layout. Returns the digest of its manifest.
// Attaching the same again changes nothing. An archive or a directory is a usage error.
Result<Digest> attach(const oci::Reference& image, const oci::Artifact& artifact, const Access& access);

// What refers to the manifest `subject`; an empty type: of every type. None is no error.
Result<std::vector<oci::Referrer>> referrers(const oci::Reference& image, const Digest& subject,
                                             const std::string& type, const Access& access);

} // namespace xaas::registry
