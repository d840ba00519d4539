// Asks programs for their version without ever waiting long for them.
#pragma once

#include <xaas/base/file.h>

#include <chrono>
#include <string>
#include <vector>

namespace xaas::system {

// Runs all commands at once and returns, for each, the version number in what it prints: "4.3.1", or nothing
// if it prints none, fails, or is not done within `limit`. What still runs then is ended, with its children.
std::vector<std::string> program_versions(const std::vector<std::vector<std::string>>& commands,
                                          std::chrono::milliseconds limit = std::chrono::seconds(2));

} // namespace xaas::system
