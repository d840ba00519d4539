// The values of a point, in the form that a spec wants.
#pragma once

#include <xaas/spec/application.h>

#include <string>
#include <vector>

namespace xaas::discover {

// Whether the schema accepts the value.
bool is_value(const std::string& value);

// Orders values from the weakest to the strongest. An instruction set that builds on another is stronger; of
// two with equal needs, the one with the wider vectors ("AVX2_128", "AVX2_256"). The other values stay in the
// build's order.
void order_by_strength(std::vector<spec::Value>& values);

// If every value requires something of the machine, adds the value "default", which gives the build no
// option, and makes it the default, so that an image has something for every machine. False: nothing was
// added.
bool add_none(spec::SpecializationPoint& point);

} // namespace xaas::discover
