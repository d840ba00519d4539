// Library directories: those of the loader and of the environment, and well-known ones.
#pragma once

#include "machine.h"

#include <string>
#include <vector>

namespace xaas::system {

// Existing directories, each once even if it has several names: those of the environment first, then those of
// the loader and of specs/machine.json.
std::vector<std::string> library_directories(const Machine& machine, const std::string& arch);

} // namespace xaas::system
