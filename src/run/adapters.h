// The command lines of the runtimes.
#pragma once

#include "program.h"

namespace xaas::run {

// Empty, or the reason why this runtime cannot run this program.
std::string obstacle(const Found& found, const Program& program);

// `host`: this process's variables. A runtime needs those that it reads itself.
Invocation invocation_of(const Found& found, const Program& program, const std::vector<std::string>& options,
                         const std::map<std::string, std::string>& host);

} // namespace xaas::run
