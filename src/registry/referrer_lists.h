// Lists of referrers in a registry.
#pragma once

#include "session.h"

#include <xaas/oci/publication.h>

namespace xaas::registry {

// Attempts to write a document that others may overwrite at the same time.
inline constexpr unsigned max_tries = 5;

// After a document was sent: adds it to the list of its subject's referrers, if it names a subject, where the
// registry, whose response to the document this is, has no such lists of its own.
Result<void> list_if_referrer(Session& session, const oci::Document& document, const http::Response& put);

} // namespace xaas::registry
