// The compiler front door: stands in for clang, clang++, flang and ld while a project is built.
#pragma once

#include <string>
#include <vector>

namespace xaas::frontdoor {

// Runs one compiler or linker invocation. `argv0` selects the tool: a name that ends in `c++` is clang++,
// `flang` is flang, `ld` the linker, `nvcc` and `hipcc` are themselves, any other name is clang. Prints what
// the compiler would print to standard output and error, and returns its exit code, because this is a
// compiler's whole process.
int run_front_door(const std::string& argv0, const std::vector<std::string>& arguments);

// True if a program started under this name is the front door ("clang", "clang++", "flang", "nvcc", "ld",
// ...).
bool is_front_door(const std::string& argv0);

} // namespace xaas::frontdoor
