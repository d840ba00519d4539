// What a deployed image says of its needs beyond the CPU: annotation `dev.xaas.needs`.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>
#include <xaas/oci/image.h>

#include <string>
#include <vector>

namespace xaas::image {

namespace annotation {
inline constexpr const char* needs = "dev.xaas.needs";
} // namespace annotation

// A value that was chosen, and what it needs of GPU, MPI and libraries.
struct ChosenNeeds {
  std::string point, value;
  spec::Requirement required; // without `cpu` and `values`
};

// Those of the values of a configuration that need such things, in point order.
std::vector<ChosenNeeds> needs_of(const Bundle& bundle, const spec::Configuration& configuration);

// Compact JSON: [{"point", "value", "requires"}].
std::string to_annotation(const std::vector<ChosenNeeds>& needs);

// Of a deployed image; without the annotation none. Malformed: integrity error.
Result<std::vector<ChosenNeeds>> needs_of(const oci::Image& image);

} // namespace xaas::image
