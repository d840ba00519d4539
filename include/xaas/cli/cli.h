// The command line: the only part of the program that prints and exits.
#pragma once

namespace xaas::cli {

// Runs the program and returns its exit code (docs/command-line.md).
int run(int argc, const char* const* argv);

} // namespace xaas::cli
