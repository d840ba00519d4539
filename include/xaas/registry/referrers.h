// Artifacts that refer to an image, in layouts (oci/referrers.h) and registries. Source: OCI distribution
// specification 1.1, "Listing Referrers", "Pushing Manifests with Subject", "Unavailable Referrers API". In a
// registry without this API (status 404), an index under the tag `sha256-<hex>` of the image's digest lists
// them.
#pragma once

#include <xaas/oci/referrers.h>
#include <xaas/registry/images.h>

#include <string>
#include <vector>

namespace xaas::registry {

// Stores an artifact in the image's repository or layout and returns the digest of its manifest. Attaching it
// again changes nothing. An archive or a directory is a usage error.
Result<Digest> attach(const oci::Reference& image, const oci::Artifact& artifact, const Access& access);

// The referrers of the manifest `subject`; an empty type means any. An empty list is not an error. Unreadable
// entries are skipped. Here and below, an image in a registry is named by its place (OpenedSource::place).
Result<std::vector<oci::Referrer>> referrers(const oci::Reference& image, const Digest& subject,
                                             const std::string& type, const Access& access);

// For oci::add_referrers(); keeps a connection to a registry open. For `skipped` see oci::stored_referrers().
Result<oci::FindReferrers> find_referrers(const oci::Reference& image, const Access& access,
                                          const oci::OnSkipped& skipped);

} // namespace xaas::registry
