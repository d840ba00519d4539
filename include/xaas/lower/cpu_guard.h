// What every deployed program and library has besides its own code: what it needs of the CPU.
#pragma once

#include <xaas/base/result.h>
#include <xaas/target/cpu.h>

#include <string>

namespace xaas::lower {

enum class GuardedFile { program, library };

// An object to link into it, as the first input, with
//
// - a guard that runs before its other initialisers (first in DT_PREINIT_ARRAY of a program, in DT_INIT_ARRAY
//   of a library; only resolvers of ifuncs, which are lowered for the least CPU, and a DT_INIT function of a
//   library are earlier): on a CPU that lacks a feature that code for `target` may use of the compiler's own
//   accord, or whose system does not save its registers, it prints which and ends the process with status
//   126. A C library that ignores DT_PREINIT_ARRAY (musl) does not run a program's;
// - an allocated section `.note.xaas.isa` with the GNU property GNU_PROPERTY_X86_ISA_1_USED (x86-64 psABI,
//   "Program Property") of the target's ISA level. Not ..._NEEDED: the loader would then refuse the file with
//   words that name no feature.
//
// Empty where there is nothing to guard: a target that is the least CPU of its architecture, or AArch64.
Result<std::string> cpu_guard(const target::Cpu& target, GuardedFile file);

} // namespace xaas::lower
