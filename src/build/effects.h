// Which specialization points choose nothing.
#pragma once

#include <xaas/build/build.h>
#include <xaas/image/bundle.h>

#include <vector>

namespace xaas::build {

// A warning for each point of the bundle, except `isa`, whose values all give the same content: whichever two
// configurations differ in this point alone. A point of which no two such configurations were built gives
// none. That ISA levels give the same content is the common case.
std::vector<Warning> points_without_effect(const image::Bundle& bundle);

} // namespace xaas::build
