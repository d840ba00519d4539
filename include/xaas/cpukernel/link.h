// Relocatable device code: the modules of several sources become one, from which kernels for a CPU are made.
#pragma once

#include <xaas/base/result.h>

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace xaas::cpukernel {

struct SourceModule {
  std::string source; // for messages and reports
  std::unique_ptr<llvm::Module> module;
};

// Links modules for NVPTX, as Clang's front end emits them, of one context. There is at least one. The result
// has all kernels, which know their source (Kernel::source), the variables that the host can name, and what
// these need. Functions that no module defines and that are called stay declarations.
//
// `keep_lines`: instructions keep their lines in the source, for kernels with checks; else debug information
// is dropped.
//
// Failed, with the sources: two definitions of a symbol, a use of a variable, or of a function's
// address, that none defines, modules that
// contradict each other.
Result<std::unique_ptr<llvm::Module>> link_modules(std::vector<SourceModule> modules,
                                                   bool keep_lines = false);

} // namespace xaas::cpukernel
