// The command lines of the runtimes.
#pragma once

#include "program.h"

namespace xaas::run {

// Empty, or why this runtime cannot run this program.
std::string obstacle(const Found& found, const Program& program);

// `host`: variables of this process; a runtime that looks at its own needs them.
Invocation invocation_of(const Found& found, const Program& program, const std::vector<std::string>& options,
                         const std::map<std::string, std::string>& host);

} // namespace xaas::run
