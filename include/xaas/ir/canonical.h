// Canonical form: what two units must have equal to share one IR module.
//
// Problem: the unoptimised IR of one source under two ISA levels differs in attributes and metadata that
// lowering sets anew, and must not be kept apart by them; but everything else, down to one flag, may change
// the program. So canonical form removes exactly what retarget() or the caller derives again from the unit,
// checks that it can be derived (the attribute computed again equals the one Clang wrote; else it stays), and
// equality of the remaining bitcode decides. Rejected: comparing preprocessed text (the front end reads
// target features), and editing feature strings (no difference of two strings says which features the source
// wrote).
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/result.h>
#include <xaas/ir/features.h>

#include <functional>
#include <string>
#include <string_view>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace xaas::ir {

// Attributes that canonical form adds to functions.
inline constexpr const char* written_attribute = "xaas-target"; // the source's own target attribute
inline constexpr const char* no_target_attribute =
    "xaas-plain"; // Clang gave this function no target attributes at all

struct CanonicalModule {
  std::string bitcode;
  Digest digest;
  unsigned fixed_functions =
      0; // functions whose target attributes could not be derived and were kept as they are
};

// Gives the written target attribute of a function in FeatureResolver's form; "" for none, "other" for one
// that FeatureResolver cannot compute: such a function keeps its attributes as they are.
using WrittenTarget = std::function<std::string(const llvm::Function&)>;

// In which mode of AArch64's SME a function runs, by its attributes.
Streaming streaming_mode(const llvm::Function& function);

// Brings a module, as the front end emitted it and before any pass, into canonical form and serialises it.
// Changes the module. Inline assembly that names a file (`.incbin`, `.include`) is a failed error that says
// so.
Result<CanonicalModule> canonicalize(llvm::Module& module, const FeatureResolver& emitted,
                                     const WrittenTarget& written);

// The same for a front end whose language has no target attributes: it gives `emitted` to every function, or
// nothing. `resolver` is that of the same flags.
Result<CanonicalModule> canonicalize(llvm::Module& module, const TargetAttributes& emitted,
                                     const FeatureResolver& resolver);

// Refuses inline assembly that names a file, `.incbin` and `.include`: failed. By name only: a directive that
// is put together by assembler macros is seen when lowering, which can open no file.
Result<void> check_assembly(const llvm::Module& module);

bool has_assembly(const llvm::Module& module); // other than the empty one, which only orders memory

// True if the module's inline assembly is instructions and numeric labels alone: no directives, no macros,
// nothing that becomes a statement only when operands are put in. What is assembled by a process that may
// open files (a link with LTO) must be so.
bool only_instructions(const llvm::Module& module);

// That, and nothing else that a link with LTO cannot have beside other units (ifuncs, -fshort-wchar).
bool suits_lto(const llvm::Module& module);

// Traits that make code generation at -O0 differ in what must link: C99 inline definitions that are not
// emitted, calls that __builtin_constant_p removes, asm operands that must become constants. Such a unit is
// lowered at its own -O from the start. `of_system` says which functions come from a system header: what is
// inline there (atoi, getchar) is in the library as well.
bool needs_optimisation(const llvm::Module& module,
                        const std::function<bool(const llvm::Function&)>& of_system);

} // namespace xaas::ir
