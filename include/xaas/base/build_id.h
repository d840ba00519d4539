// Which build of this program is running.
#pragma once

#include <string>

namespace xaas {

// The linker's build ID of the running program (a digest of its code, as bytes): names exactly the code that
// made something. Empty if it was linked without one.
std::string build_id();

} // namespace xaas
