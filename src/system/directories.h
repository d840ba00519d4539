// Where libraries are: the loader's directories, those of the environment, known places.
#pragma once

#include "machine.h"

#include <string>
#include <vector>

namespace xaas::system {

// Directories that exist, each once even if it has several names: the environment's first, then those of the
// loader and of specs/machine.json.
std::vector<std::string> library_directories(const Machine& machine, const std::string& arch);

} // namespace xaas::system
