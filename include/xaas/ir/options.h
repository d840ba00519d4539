// Between Clang's invocation and the typed options of a unit.
#pragma once

#include <xaas/ir/unit.h>

namespace clang {
class CompilerInvocation;
}

namespace xaas::ir {

// The options of an invocation that decide what its IR is lowered to. An error of kind failed says which
// option cannot be carried (a profile, a sanitizer, a pass plugin): the caller then carries the object
// natively.
Result<UnitOptions> options_of(const clang::CompilerInvocation& invocation);

// Sets the options in an invocation that has Clang's defaults. A name that this LLVM does not know, or a
// value out of range, is an integrity error.
Result<void> apply_options(const UnitOptions& options, clang::CompilerInvocation& invocation);

} // namespace xaas::ir
