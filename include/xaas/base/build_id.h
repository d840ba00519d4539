// The identity of this build of the program.
#pragma once

#include <string>

namespace xaas {

// The linker's build ID of the running program: a digest of its code, as bytes. Empty if it was linked
// without one.
std::string build_id();

} // namespace xaas
