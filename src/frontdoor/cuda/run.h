// The front door under nvcc's name.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Compiles and links what a command line of nvcc (without argv[0]) asks for: as Clang where that can be said
// to Clang, else by the real nvcc, whose objects are noted as native. The exit code.
int run_nvcc(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
