// Which configurations become IR, and which the target builds.
#pragma once

#include <xaas/spec/application.h>

#include <string>
#include <vector>

namespace xaas::build {

struct Forms {
  std::vector<spec::Configuration> ir, source;
};

// Configurations with a value that is built from source are built on the target. The instruction set of such
// a build is the target, so among configurations that differ only in `isa`, the one with the weakest level
// stays.
Forms forms_of(const std::vector<spec::SpecializationPoint>& points,
               const std::vector<spec::Configuration>& configurations);

// The configurations after `configuration` that differ from it only in `isa`.
std::vector<spec::Configuration> later_at_other_levels(const std::vector<spec::SpecializationPoint>& points,
                                                       const std::vector<spec::Configuration>& configurations,
                                                       const spec::Configuration& configuration);

std::vector<std::string> ids_of(const std::vector<spec::Configuration>& configurations);

} // namespace xaas::build
