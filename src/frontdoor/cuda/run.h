// The front door under nvcc's name.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Runs a command line of nvcc (without argv[0]): by Clang if it can be translated, else by the real nvcc,
// whose objects are recorded as native. Returns the exit code.
int run_nvcc(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
