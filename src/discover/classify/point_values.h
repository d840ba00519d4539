// The values of a point, as a spec wants them.
#pragma once

#include <xaas/spec/application.h>

#include <string>
#include <vector>

namespace xaas::discover {

// As the schema has values.
bool is_value(const std::string& value);

// Points list values weakest first. An instruction set that is built on another is stronger; of two with
// equal needs the one with the wider vectors ("AVX2_128", "AVX2_256"). The rest stays as the build lists it.
void order_by_strength(std::vector<spec::Value>& values);

// Where each value asks something of the machine, a build without the option is one more value, "default",
// and the default: an image has something for every machine then. False: nothing was added.
bool add_none(spec::SpecializationPoint& point);

} // namespace xaas::discover
