// Prepared form: a module after the half of the optimizer that knows no machine. It has no target attributes,
// like canonical form, so that retarget() gives it those of any target; src/ir/prepared.cpp has the reasons
// and an example.
#pragma once

#include <xaas/base/result.h>
#include <xaas/target/cpu.h>

#include <string>

namespace llvm {
class Module;
}

namespace xaas::ir {

// The CPU for which a module in canonical form is prepared: target::common_level(), or the lowest level if a
// function has features of its own. If that level has no registers for the vectors that functions pass and
// return, the next one that has. It is a function of the module alone, so that equal modules of several
// builds stay equal. An architecture without levels: integrity error.
Result<target::Cpu> preparation_cpu(const llvm::Module& module, const std::string& arch);

// Notes in a module in canonical form what retarget() will replace.
void note_targets(llvm::Module& module);

// Undoes retarget() after passes have run, with the notes that the functions and their copies have.
void restore_targets(llvm::Module& module);

} // namespace xaas::ir
