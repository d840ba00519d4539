// LLVM IR as a source language: what other front ends and MLIR make, compiled by `cc -c kernel.ll` or from
// bitcode.
#pragma once

#include "working_object.h"

namespace xaas::frontdoor {

// Captures a compile whose input is LLVM IR; outcomes and errors as capture_compile(), which calls it.
Result<CompileResult> capture_ir(const session::Session& session, const clang::CompilerInvocation& invocation,
                                 UnitWriter writer);

} // namespace xaas::frontdoor
