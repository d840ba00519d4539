// Where a registry's image is read or written, and how to get there (routes.h).
#pragma once

#include <xaas/registry/images.h>

#include <vector>

namespace xaas::registry {

// At least one, in the order in which they are tried. Anything but an image in a registry is its own place.
Result<std::vector<Place>> places_to_read(const oci::Reference& image, const Access& access);
Result<Place> place_to_write(const oci::Reference& image, const Access& access);

// The error for an image that none of its places gives, from the errors of all places. Its kind is that which
// says most: integrity, denied, not_found, then others.
Error none_of_places(const oci::Reference& image, std::vector<Error> errors);

} // namespace xaas::registry
