// The front door under hipcc's name: Clang in HIP mode. According to its documentation (ROCm HIPCC, "Using
// hipcc") and help, hipcc also optimizes by default, links HIP's run-time library, and has its own names for
// a few options.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Translates a command line of hipcc, without argv[0], into one of clang++.
std::vector<std::string> clang_arguments_of_hipcc(const session::Session& session,
                                                  const std::vector<std::string>& arguments);

// Runs a command line of hipcc. Returns the exit code.
int run_hipcc(const session::Session& session, const std::vector<std::string>& arguments);

} // namespace xaas::frontdoor
