// One run of Clang's driver: a command line of clang, clang++ or flang, done.
#pragma once

#include "arguments.h"
#include "device/files.h"

#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// The jobs that the driver makes of `arguments` (without argv[0]) are done here where they compile or link,
// and by clang itself where they do anything else (preprocess, assemble, precompile). The exit code.
int run_driver(const session::Session& session, const std::vector<std::string>& arguments, Compiler compiler);

// The compiles for GPUs that clang++ would make of `arguments`; none where it refuses them, and says why.
std::vector<DeviceCommand> list_device_commands(const session::Session& session,
                                                const std::vector<std::string>& arguments);

// What a compiler says of its own errors. The exit code that fits.
int print_error(const Error& error);

} // namespace xaas::frontdoor
