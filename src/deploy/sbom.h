// SBOMs of deployed images.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/oci/referrers.h>

#include <string>

namespace xaas::deploy {

// The artifact that attaches an SBOM to an image with a manifest of `size` bytes, dated `created`.
oci::Artifact sbom_artifact(const Json& sbom, const Digest& image, uint64_t size, const std::string& created);

} // namespace xaas::deploy
