// Where this machine's dynamic loader looks for libraries.
#pragma once

#include <string>
#include <vector>

namespace xaas::system {

// The directories of /etc/ld.so.cache that have libraries for this architecture, in its order; then the
// loader's own. LD_LIBRARY_PATH is not among them.
std::vector<std::string> loader_directories(const std::string& arch);

} // namespace xaas::system
