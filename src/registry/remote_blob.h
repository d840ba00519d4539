// A blob that is read from a registry as it arrives.
#pragma once

#include "session.h"

#include <xaas/oci/blob.h>

#include <memory>

namespace xaas::registry {

// Keeps nothing and checks nothing. Sequential reading takes a single request; a broken connection is resumed
// (Range), and reading at another offset starts a new request.
oci::BlobPtr remote_blob(std::shared_ptr<Sessions> sessions, Sessions::Lent session,
                         const oci::Descriptor& blob);

} // namespace xaas::registry
