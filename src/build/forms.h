// Which configurations become IR, and which are built on the target.
#pragma once

#include <xaas/spec/application.h>

#include <string>
#include <vector>

namespace xaas::build {

struct Forms {
  std::vector<spec::Configuration> ir, source;
};

// Those with a value that is built from source are built there. What such a build gets as its instruction set
// is the target, so of those that differ in `isa` only the one with the weakest level stays.
Forms forms_of(const std::vector<spec::SpecializationPoint>& points,
               const std::vector<spec::Configuration>& configurations);

std::vector<std::string> ids_of(const std::vector<spec::Configuration>& configurations);

} // namespace xaas::build
