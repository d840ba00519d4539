// What flang writes into a module that is not the source's: the place of the build, and chance.
#pragma once

#include <functional>
#include <string>

namespace llvm {
class Module;
}

namespace xaas::frontdoor {

// Makes a module of flang's the same in every place and every run:
// - file names in debug information, and the constant with a source's absolute path that calls of Fortran's
//   run-time library have for their messages, become what `portable` gives for them. (Clang does this itself,
//   by -ffile-prefix-map, which flang does not have.) Strings of the program itself stay as they are.
// - the modules that a procedure uses are listed by name in its debug information. flang lists them in the
//   order of their addresses in its memory.
// - versioned loops are in one order (loop_versions.h).
void make_reproducible(llvm::Module& module, const std::function<std::string(const std::string&)>& portable);

} // namespace xaas::frontdoor
