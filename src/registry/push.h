// Writes images to a registry.
#pragma once

#include "session.h"

#include <xaas/oci/publication.h>
#include <xaas/registry/images.h>

namespace xaas::registry {

// Progress is in bytes, including those of existing blobs; several threads report it.
Result<Digest> push(const oci::Reference& reference, const oci::Publication& publication,
                    const Access& access, Progress& progress);
// The steps: sending a blob unless it exists, and a document under a tag or its digest; returns the response.
Result<void> send_blob(Session& session, const oci::NewBlob& blob, const std::string& mount_from,
                       Progress& progress);
Result<http::Response> put_document(Session& session, const oci::Document& document, const std::string& name);

Result<void> check_push(const oci::Reference& reference, const Access& access);

} // namespace xaas::registry
