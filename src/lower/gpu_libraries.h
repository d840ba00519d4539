// What Clang does with device code between its front end and its back end.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/target/cpu.h>

#include <string>
#include <vector>

namespace llvm {
class Module;
}
namespace clang {
class CompilerInstance;
}

namespace xaas::lower {

// The options of LLVM that Clang's driver sets for CUDA (clang/lib/Driver/ToolChains/Clang.cpp, Cuda.cpp),
// and those of the unit, checked. They are the process's: one that lowers for GPUs does nothing else.
void set_gpu_options(const ir::UnitOptions& options, const target::Cpu& target);

// What the assembler is asked for of a unit's kernels (-maxrregcount), for each of them: it is lost where
// units with other options are linked.
void keep_kernel_options(llvm::Module& module, const ir::UnitOptions& options);

// Links what the module calls of each library into it, as `-mlink-builtin-bitcode` does: only what is needed,
// internal, with attributes as if the compile itself had emitted it (clang/lib/CodeGen/CodeGenAction.cpp,
// LinkInModules). `compiler` has the unit's options and a target. Bitcode that cannot be parsed or linked:
// integrity error.
Result<void> link_gpu_libraries(llvm::Module& module, const std::vector<std::string>& libraries,
                                const clang::CompilerInstance& compiler);

} // namespace xaas::lower
