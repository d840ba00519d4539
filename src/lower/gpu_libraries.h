// The steps of a device compile between Clang's front end and its back end.
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

// Sets the LLVM options that Clang's driver sets for CUDA (clang/lib/Driver/ToolChains/Clang.cpp, Cuda.cpp),
// and those of the unit. They are global, so a process that lowers for GPUs does nothing else.
void set_gpu_options(const ir::UnitOptions& options, const target::Cpu& target);

// Writes the unit's option for the assembler (-maxrregcount) to each of its kernels. Otherwise it would be
// lost when units with other options are linked.
void keep_kernel_options(llvm::Module& module, const ir::UnitOptions& options);

// Links the functions of each library that the module calls into it, as `-mlink-builtin-bitcode` does: only
// the needed ones, internal, with attributes as if the compile itself had emitted them
// (clang/lib/CodeGen/CodeGenAction.cpp, LinkInModules). `compiler` has the unit's options and a target.
// Bitcode that cannot be parsed or linked: integrity error.
Result<void> link_gpu_libraries(llvm::Module& module, const std::vector<std::string>& libraries,
                                const clang::CompilerInstance& compiler);

} // namespace xaas::lower
