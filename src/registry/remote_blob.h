// A blob that is read from a registry while it arrives.
#pragma once

#include "session.h"

#include <xaas/oci/blob.h>

#include <memory>

namespace xaas::registry {

// Nothing of it is kept. Read in order it is one request; a connection that breaks goes on where it ended
// (Range), and from another place it begins again. The bytes are not checked.
oci::BlobPtr remote_blob(std::shared_ptr<Sessions> sessions, Sessions::Lent session,
                         const oci::Descriptor& blob);

} // namespace xaas::registry
