// One ABI for functions that return wide vectors.
//
// Problem: Clang emits a return of a vector of more than 128 bits as a value of that type, and LLVM chooses
// the registers from the features of the function on each side: XMM0 and XMM1 without AVX, YMM0 with it, up
// to four registers, and memory beyond that. Retargeting changes the features of IR, and of nothing
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
// Approach: before canonical form, what LLVM would return in several registers, or in memory, is written out
// in the IR as LLVM would do it for the features that the function has there: a structure of the registers'
// types (`{<4 x float>, <4 x float>}`) or a pointer to the result (`sret`). Every such piece is legal for all
// further features, so nothing that retargeting adds moves it. LLVM itself says what the pieces are.
//
// A function whose own attribute gives it wider registers than the unit's flags has callers of both kinds:
// by native code with the same attribute, and through a pointer or an ifunc by code without it. Where one
// register holds the whole vector, it returns that and the other pieces as well:
// `{<8 x float>, <4 x float>}` is YMM0, whose low half is XMM0, and XMM1. Where that is impossible, versions
// that an ifunc chooses follow the unit's flags, because their callers do; the others keep their own ABI.
//
// Functions that only this module can call stay as they are where each caller inlines them (`always_inline`:
// Clang's intrinsics), has their features on every target, or has one register for the result, as they have:
// Clang's machine code for the target is kept.
//
// Rejected: carrying such units natively (sound, but specialization is lost); lowering the functions for the
// configuration's level (a loop in `main` may call one).
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/features.h>

#include <functional>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace xaas::ir {

// Says of a function whether it is one of several versions under one name (`target_clones`, `cpu_specific`).
using IsVersion = std::function<bool(const llvm::Function&)>;

// Gives each return and call in a module that the front end has just emitted an ABI that more features do not
// change. `plain` are the attributes of functions without a written one. Returns the number of functions
// whose ABI was written out. An error of kind failed says why a unit cannot be carried as IR: a vector
// argument in registers that depend on features, or a return that cannot be written out.
Result<unsigned> fix_vector_returns(llvm::Module& module, const TargetAttributes& plain,
                                    const IsVersion& is_version);

// The width in bits of the widest vector in the signature of a function or of a call in it; 0 if none. Calls
// of LLVM's own functions and of inline assembly do not count.
uint64_t widest_vector_passed(const llvm::Function& function);

} // namespace xaas::ir
