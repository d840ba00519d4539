#include "places.h"

#include <xaas/base/text.h>
#include <xaas/registry/routes.h>

#include <algorithm>

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
  const auto is = [](ErrorKind kind) { return [kind](const Error& error) { return error.kind == kind; }; };
  std::vector<std::string> messages;
  for (const Error& error : errors)
    messages.push_back(error.message);
  Error united = std::move(errors.back());
  const bool any_not_found = united.kind == ErrorKind::not_found ||
                             std::any_of(errors.begin(), errors.end() - 1, is(ErrorKind::not_found));
  const bool only_these = std::all_of(errors.begin(), errors.end(), [](const Error& error) {
    return error.kind == ErrorKind::not_found || error.kind == ErrorKind::network;
  });
  if (any_not_found && only_these)
    united.kind = ErrorKind::not_found;
  united.message = image.text + ": none of its places has it: " + join(messages, "; ");
  return united;
}

} // namespace xaas::registry
