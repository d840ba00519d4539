// One run of Clang's driver: a command line of clang, clang++ or flang.
#pragma once

#include "arguments.h"
#include "device/files.h"

#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Runs the jobs that the driver makes of `arguments` (without argv[0]): compiles and links in this process,
// all others (preprocess, assemble, precompile) by clang itself. Returns the exit code.
int run_driver(const session::Session& session, const std::vector<std::string>& arguments, Compiler compiler);

// The compiles for GPUs that clang++ would run for `arguments`; none if it refuses them, in which case it
// prints why.
std::vector<DeviceCommand> list_device_commands(const session::Session& session,
                                                const std::vector<std::string>& arguments);

using LinkerArguments = std::vector<std::string>;

// The linker command lines that clang would run for `arguments`, whose inputs need not exist; none if it
// refuses them, in which case it prints why.
std::vector<LinkerArguments> list_links(const session::Session& session,
                                        const std::vector<std::string>& arguments);

// Prints an error as a compiler would, and returns the exit code.
int print_error(const Error& error);

} // namespace xaas::frontdoor
