// Removes from a module what flang adds by the build's location and by chance.
#pragma once

#include <functional>
#include <string>

namespace llvm {
class Module;
}

namespace xaas::frontdoor {

// Makes flang's module the same in every directory and every run:
// - file names in debug information, and the constant with the source's absolute path that calls of Fortran's
//   run-time library use in messages, are mapped by `portable`. (Clang's -ffile-prefix-map does this; flang
//   does not have it.) Strings of the program itself stay as they are.
// - the modules that a procedure uses are sorted by name in its debug information. flang sorts them by their
//   addresses in its memory.
// - versioned loops have one order (loop_versions.h).
void make_reproducible(llvm::Module& module, const std::function<std::string(const std::string&)>& portable);

} // namespace xaas::frontdoor
