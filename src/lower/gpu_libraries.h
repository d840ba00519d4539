// What Clang does with device code between its front end and its back end.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/features.h>

#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace xaas::lower {

// The options of LLVM that Clang's driver sets for CUDA (clang/lib/Driver/ToolChains/Clang.cpp, Cuda.cpp).
// They are the process's, and what they change is memory functions that only a GPU lacks: a process that
// lowers for GPUs does nothing else.
// `options` are those of the unit, checked.
void set_gpu_options(const ir::UnitOptions& options);

// What the assembler is asked for of a unit's kernels (-maxrregcount), for each of them: it is lost where
// units with other options are linked.
void keep_kernel_options(llvm::Module& module, const ir::UnitOptions& options);

// Links what the module calls of each library into it, as `-mlink-builtin-bitcode` does: only what is needed,
// internal, with the module's target attributes (clang/lib/CodeGen/CodeGenAction.cpp, LinkInModules). Bitcode
// that cannot be parsed or linked: integrity error.
Result<void> link_gpu_libraries(llvm::Module& module, const std::vector<std::string>& libraries,
                                const ir::InstructionSet& set);

} // namespace xaas::lower
