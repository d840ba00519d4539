// Records and runs one link.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Links as the arguments (of GNU ld, without argv[0]) ask, through the same record and the same lld as
// deploying, and writes the output and the record. Prints the linker's messages to standard error. Returns
// the linker's exit code. Also answers --version, -v and --help, by which programs examine a linker.
int capture_link(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
