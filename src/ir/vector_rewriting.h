// Writes out in IR how a wide vector is returned.
#pragma once

#include "vector_registers.h"

#include <llvm/IR/InstrTypes.h>

namespace xaas::ir {

// Replaces `call` by one that returns in `form`, which is not as_it_is. Failed: a call that IR cannot express
// so (a `musttail` call, an assembly goto).
Result<void> rewrite_call(llvm::CallBase& call, const Form& form);

// Replaces `old` by a function that returns in `form`, which is not as_it_is. Its callers are rewritten
// apart.
void rewrite_function(llvm::Function& old, const Form& form);

} // namespace xaas::ir
