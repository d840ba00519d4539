// Canonical form: two units share one IR module exactly if their modules are equal in this form. It drops
// only what retarget() or the caller derives again from the unit; src/ir/canonical.cpp has the reasons and an
// example.
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
inline constexpr const char* written_attribute = "xaas-target"; // the target attribute of the source
inline constexpr const char* no_target_attribute =
    "xaas-plain"; // Clang gave this function no target attributes at all

struct CanonicalModule {
  std::string bitcode;
  Digest digest;
  unsigned fixed_functions =
      0; // functions that keep their target attributes, because these cannot be derived
};

// Returns the written target attribute of a function in FeatureResolver's form: "" for none, "other" for one
// that FeatureResolver cannot compute. Such a function keeps its attributes.
using WrittenTarget = std::function<std::string(const llvm::Function&)>;

// The mode of AArch64's SME in which a function runs, by its attributes.
Streaming streaming_mode(const llvm::Function& function);

// Brings a module into canonical form and serializes it. The module is as the front end emitted it, before
// any pass, and is changed. Inline assembly that names a file (`.incbin`, `.include`): failed.
Result<CanonicalModule> canonicalize(llvm::Module& module, const FeatureResolver& emitted,
                                     const WrittenTarget& written);

// The same for a front end whose language has no target attributes, and which gives every function `emitted`
// or nothing. `resolver` must come from the same flags.
Result<CanonicalModule> canonicalize(llvm::Module& module, const TargetAttributes& emitted,
                                     const FeatureResolver& resolver);

// Refuses inline assembly that names a file (`.incbin`, `.include`): failed. The check goes by name. A
// directive that assembler macros put together fails in lowering, which can open no file.
Result<void> check_assembly(const llvm::Module& module);

bool has_assembly(const llvm::Module& module); // other than empty assembly, which only orders memory

// True if the module's inline assembly is instructions and numeric labels alone: no directives, no macros,
// nothing that becomes a statement only through its operands. A process that may open files (a link with LTO)
// assembles nothing else.
bool only_instructions(const llvm::Module& module);

// True if that holds and the module has nothing else that LTO cannot combine with other units (ifuncs,
// -fshort-wchar).
bool suits_lto(const llvm::Module& module);
// What a module that does not has, for reports.
inline constexpr const char* unsuited_to_lto =
    "inline assembly with more than instructions, an ifunc, or -fshort-wchar";

// True if the module may not link, or not assemble, when it is lowered at -O0: it has C99 inline definitions
// that are not emitted, calls that __builtin_constant_p removes, or asm operands that must become constants.
// Such a unit is lowered at its own -O from the start. `of_system` tells which functions come from a system
// header; the library defines these, too (atoi, getchar).
bool needs_optimization(const llvm::Module& module,
                        const std::function<bool(const llvm::Function&)>& of_system);

} // namespace xaas::ir
