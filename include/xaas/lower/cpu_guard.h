// The CPU guard and the ISA note, which deploying adds to every program and library.
#pragma once

#include <xaas/base/result.h>
#include <xaas/target/cpu.h>

#include <string>

namespace xaas::lower {

enum class GuardedFile { program, library };

// An object to link as the first input, with
//
// - a guard that runs before other initializers: first in DT_PREINIT_ARRAY of a program, in DT_INIT_ARRAY of
//   a library. Only resolvers of ifuncs, which are lowered for the lowest level, and a DT_INIT function of a
//   library run earlier. If the CPU lacks a feature that the compiler may use in code for `target`, or the
//   system does not save its registers, the guard prints the feature and ends the process with status 126. On
//   AArch64, the guard reads the features from the auxiliary vector, and that of a library from
//   /proc/self/auxv; without /proc, a library is not checked. A C library that ignores DT_PREINIT_ARRAY
//   (musl) does not run a program's guard;
// - on x86-64, an allocated section `.note.xaas.isa` with the GNU property GNU_PROPERTY_X86_ISA_1_USED
// (x86-64
//   psABI, "Program Property") of the target's ISA level. With ..._NEEDED the loader would refuse the file,
//   in a message that names no feature.
//
// Empty if feature_bits() has none of the target's features.
Result<std::string> cpu_guard(const target::Cpu& target, GuardedFile file);

} // namespace xaas::lower
