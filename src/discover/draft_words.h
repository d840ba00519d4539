// specs/draft.json in memory.
#pragma once

#include <string>
#include <vector>

namespace xaas::discover {

// Whether a value of a choice of instruction sets leaves it to the build machine.
bool asks_the_machine(const std::string& value);

// Whether an option whose name has these words builds something that an image does not need.
bool is_unwanted(const std::vector<std::string>& words);

} // namespace xaas::discover
