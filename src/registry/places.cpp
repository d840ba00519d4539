#include "places.h"

#include <xaas/base/text.h>
#include <xaas/registry/routes.h>

namespace xaas::registry {

namespace {

Place place_of(Route route, const Access& access) {
  Place place{std::move(route.reference), access};
  place.access.routes = nullptr;
  if (route.insecure && access.routes_may_be_insecure)
    place.access.tls_verify = false;
  return place;
}

} // namespace

Result<std::vector<Place>> places_to_read(const oci::Reference& image, const Access& access) {
  if (!access.routes || image.transport != oci::Transport::registry)
    return std::vector<Place>{{image, access}};
  XAAS_TRY(const std::shared_ptr<const Routes> known, access.routes());
  XAAS_TRY(const std::vector<Route> routes, known->to_read(image));
  std::vector<Place> places;
  for (const Route& route : routes)
    places.push_back(place_of(route, access));
  return places;
}

Result<Place> place_to_write(const oci::Reference& image, const Access& access) {
  if (!access.routes || image.transport != oci::Transport::registry)
    return Place{image, access};
  XAAS_TRY(const std::shared_ptr<const Routes> known, access.routes());
  XAAS_TRY(Route route, known->to_write(image));
  return place_of(std::move(route), access);
}

Error none_of_places(const oci::Reference& image, std::vector<Error> errors) {
  if (errors.size() == 1)
    return std::move(errors.front());
  std::vector<std::string> messages;
  for (const Error& error : errors)
    messages.push_back(error.message);
  const std::string what = image.text + ": it cannot be read at any of its places: " + join(messages, "; ");
  // What says most.
  for (const ErrorKind kind : {ErrorKind::integrity, ErrorKind::denied, ErrorKind::not_found})
    for (const Error& error : errors)
      if (error.kind == kind)
        return make_error(kind, what, error.hint);
  return make_error(errors.empty() ? ErrorKind::not_found : errors.back().kind, what,
                    errors.empty() ? "" : errors.back().hint);
}

} // namespace xaas::registry
