// The front door under hipcc's name: Clang, told that what it compiles is HIP. What hipcc does beside is from
// its own documentation (ROCm HIPCC, "Using hipcc") and help: optimises by default, links HIP's run-time
// library, has names of its own for a few options.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// A command line of hipcc, without argv[0], as one of clang++.
std::vector<std::string> clang_arguments_of_hipcc(const session::Session& session,
                                                  const std::vector<std::string>& arguments);

// Compiles and links what it asks for. The exit code.
int run_hipcc(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
