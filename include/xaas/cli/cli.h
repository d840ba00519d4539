// The command line: the only part of the program that prints and exits.
#pragma once

namespace xaas::cli {

// Runs the program. Returns its exit code, as docs/command-line.md lists them.
int run(int argc, const char* const* argv);

} // namespace xaas::cli
