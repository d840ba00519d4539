// Names of symbols in modules and object files, as a linker reads them.
#pragma once

#include <xaas/base/result.h>

#include <optional>
#include <set>
#include <string>

namespace llvm {
class MemoryBufferRef;
class Module;
} // namespace llvm

namespace xaas::ir {

// Without symbol versions (`read@@V1` is `read`).
struct Symbols {
  std::set<std::string> defined;
  // Names for which a linker searches archives: undefined ones, and common ones (tentative definitions of C
  // and Fortran), which lld replaces by an archive's definition (--fortran-common).
  std::set<std::string> wanted;
};

// The module's own symbols, with those of its file-scope assembly. Assembly in functions adds all names that
// it may define to both sets. The back end adds names to `wanted` (runtime_functions()). Nothing if assembly
// in a function has macros, which may define any name.
std::optional<Symbols> symbols_of(llvm::Module& module);

// True if the module defines one of these names so that, in a shared library, a definition elsewhere may
// replace it: with default visibility, and not as an inline function of C++, which is equal everywhere.
// Common symbols do not count, because no optimization relies on them.
bool exports_any(const llvm::Module& module, const std::set<std::string>& names);

// Symbols of an object, a shared library (its dynamic ones), bitcode, or an archive of such files. Anything
// else, or a damaged file: integrity error.
Result<Symbols> symbols_of(const llvm::MemoryBufferRef& file);

// Functions that the optimizer or the back end may call although no module names them.
std::set<std::string> runtime_functions(const std::string& triple);

} // namespace xaas::ir
