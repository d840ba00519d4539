// Whether the commands of a build would do the same at other ISA levels.
#pragma once

#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <functional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

// A job of Clang's driver for another level.
std::vector<std::string> at_level(const session::Session& session, std::vector<std::string> job,
                                  const std::string& level);

// Notes the levels for which `difference` says how the command would differ; it is empty if it would not.
Result<void> compare_levels(const session::Session& session, const std::string& command,
                            const std::function<std::string(const std::string& level)>& difference);

// The same difference for all levels.
Result<void> differs_at_levels(const session::Session& session, const std::string& command,
                               const std::string& difference);

// Runs a job of another program again, here and at the other levels, and compares exit codes and outputs. The
// job has run with this exit code, and its inputs are still there.
Result<void> compare_program(const session::Session& session, const std::vector<std::string>& job,
                             int exit_code);

} // namespace xaas::frontdoor
