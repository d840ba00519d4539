// Retargeting: gives a canonical module the target attributes that Clang would have given it for another
// instruction set.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/features.h>

namespace llvm {
class Module;
}

namespace xaas::ir {

// Sets the target attributes of every function from `set` and the function's written attribute, removes the
// markers of canonical form, and sets the source file name. Resolvers of ifuncs, and the functions of the
// module that they call, run before the CPU is known. They get the architecture's lowest level instead,
// unless the unit fixes its CPU.
Result<void> retarget(llvm::Module& module, const InstructionSet& set, bool cpu_is_fixed,
                      const std::string& source);

// Gives functions that the front end left without target attributes those of `set`. ThinLTO needs this,
// because a link has many units and no single instruction set that the process could supply.
Result<void> set_plain_attributes(llvm::Module& module, const InstructionSet& set);

// Keeps visible definitions that have a section of their own (`.init_array`, tables that a linker script or
// the program walks). No symbol refers to them, so LTO would drop them, while a link of objects keeps them.
void keep_sections(llvm::Module& module);

} // namespace xaas::ir
