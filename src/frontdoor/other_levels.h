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

// False if a word is the path of a pipe or a device (`-include /dev/stdin`), which can be read only once. The
// null device can be read again.
bool names_only_files(const std::vector<std::string>& job);

// Notes the levels for which `difference` says how the command would differ; it is empty if it would not.
Result<void> compare_levels(const session::Session& session, const std::string& command,
                            const std::function<std::string(const std::string& level)>& difference);

// The same difference for all levels.
Result<void> differs_at_levels(const session::Session& session, const std::string& command,
                               const std::string& difference);

// Runs a job of another program by `run`, which returns its exit code, after running it for the other levels.
// The preprocessor runs once, and its text has the same number of lines of predefined macros for all levels.
Result<int> run_compared(const session::Session& session, const std::vector<std::string>& job,
                         const std::function<int()>& run);

} // namespace xaas::frontdoor
