// Retargeting: gives a canonical module the target attributes that Clang would have given it for another
// instruction set.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/features.h>

namespace llvm {
class Module;
}

namespace xaas::ir {

// Sets target attributes of every function from `set` and the function's own written attribute, removes the
// markers of canonical form, and sets the source file name. Resolvers of ifuncs, and what they call inside
// the module, run before anything is known of the CPU and get the architecture's lowest level instead, unless
// the unit fixes its CPU.
Result<void> retarget(llvm::Module& module, const InstructionSet& set, bool cpu_is_fixed,
                      const std::string& source);

// Says in the IR what a compiler process otherwise knows: gives functions that the front end left without
// target attributes those of `set`. For ThinLTO, where a link has many units and no one instruction set.
Result<void> set_plain_attributes(llvm::Module& module, const InstructionSet& set);

// Keeps what others can see and what has a section of its own (`.init_array`, tables that a linker script or
// the program walks): nobody names it, so LTO would drop it, where an object keeps it.
void keep_sections(llvm::Module& module);

} // namespace xaas::ir
