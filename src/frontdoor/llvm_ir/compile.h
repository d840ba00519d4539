// LLVM IR as a source language: what other front ends and MLIR make, compiled by `cc -c kernel.ll` or from
// bitcode.
#pragma once

#include "c/compile.h"

namespace xaas::frontdoor {

// Captures a compile whose input is LLVM IR; outcomes as capture_compile().
CompileResult capture_ir(const session::Session& session, const WrittenMachine& written,
                         const clang::CompilerInvocation& invocation);

} // namespace xaas::frontdoor
