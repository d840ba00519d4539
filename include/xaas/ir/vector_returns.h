// One ABI for functions that return wide vectors.
//
// Problem: Clang emits a return of a vector of more than 128 bits as a value of that type. LLVM then chooses
// the registers from the function's features, on each side on its own: XMM0 and XMM1 without AVX, YMM0 with
// it, up to four registers, and memory beyond that. Retargeting changes the features of IR, and of nothing
// else. For example, with
//
//     typedef float v8 __attribute__((vector_size(32)));
//     v8 splat(float);                                   // in a native object, compiled for x86-64
//     v8 twice(float a) { return splat(a) + splat(a); }  // in a unit, lowered for Haswell
//
// `splat` returns in XMM0 and XMM1, and `twice` would read YMM0: four of eight elements are wrong. The same
// happens between functions of one module where one of them keeps its features: a resolver of an ifunc, a
// version for one CPU, a function with a `target` attribute that is called through a pointer.
//
// Approach: before canonical form, a result that LLVM would return in several registers, or in memory, is
// written out in the IR as LLVM would return it with the features that the function has there: as a structure
// of the registers' types (`{<4 x float>, <4 x float>}`) or through a pointer (`sret`). Every such piece is
// legal with all further features, so retargeting does not move it. LLVM itself tells the pieces.
//
// A function whose own attribute gives it wider registers than the unit's flags has two kinds of callers:
// native code with the same attribute, and code without it, through a pointer or an ifunc. If one register
// holds the whole vector, the function returns that register and the other pieces as well: `{<8 x float>, <4
// x float>}` is YMM0, whose low half is XMM0, and XMM1. Otherwise, versions that an ifunc chooses follow the
// unit's flags, because their callers do, and other functions keep their own ABI.
//
// A function that only this module can call stays as it is, and keeps Clang's machine code for the target, if
// each caller inlines it (`always_inline`: Clang's intrinsics), has its features on every target, or has one
// register for the result as the function has.
//
// Rejected: carrying such units natively, which loses specialization; lowering the functions for the
// configuration's level only, which slows down a loop that calls one.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/features.h>

#include <functional>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace xaas::ir {

// True for a function that is one of several versions under one name (`target_clones`, `cpu_specific`).
using IsVersion = std::function<bool(const llvm::Function&)>;

// Gives each return and call of a module, as the front end emitted it, an ABI that further features do not
// change. `plain` are the attributes of functions without a written one. Returns the number of functions
// whose ABI was written out. A failed error says why the unit cannot be carried as IR: a vector argument is
// in registers that depend on features, or a return cannot be written out.
Result<unsigned> fix_vector_returns(llvm::Module& module, const TargetAttributes& plain,
                                    const IsVersion& is_version);

// The width in bits of the widest vector in the signature of a function or of a call in it; 0 if none. Calls
// of LLVM's own functions and of inline assembly do not count.
uint64_t widest_vector_passed(const llvm::Function& function);

} // namespace xaas::ir
