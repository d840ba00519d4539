// LLVM's back ends, which must be registered before a target can be looked up.
#pragma once

namespace xaas::ir {

// Registers every back end of this LLVM with its assembler and its printer. Later calls do nothing.
void initialize_back_ends();

} // namespace xaas::ir
