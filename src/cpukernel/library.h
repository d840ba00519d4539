// What replaces libdevice and the intrinsics of LLVM's NVPTX back end: library/math.c and library/thread.c.
#pragma once

#include "library_ir.h"

#include <xaas/base/result.h>

#include <llvm/ADT/StringRef.h>

#include <llvm/IR/Instructions.h>

#include <optional>
#include <string>

namespace llvm {
class CallBase;
class Function;
class Module;
} // namespace llvm

namespace xaas::cpukernel {

// The prefixes of the library's functions; library/thread.c says what they mean.
constexpr const char* thread_prefix = "xaas_thread_";
constexpr const char* warp_prefix = "xaas_warp_";

// An attribute of declarations that the run-time library or the C library defines.
constexpr const char* provided_attribute = "xaas-provided";

// True for a function that nothing on the host defines.
bool is_missing(const llvm::Function& function);

// The name of an intrinsic of the NVPTX back end as part of a C name: llvm.nvvm.vote.all.sync is
// "vote_all_sync". Also of our own ones (checks.cpp): xaas.thread.check.access is "check_access". Empty for
// other functions.
std::string intrinsic_name(const llvm::Function& function);

// The function that a call names directly; null for a call through a pointer or of inline assembly.
const llvm::Function* callee_of(const llvm::CallBase& call);

// The operation that PTX calls "add", "min", "inc" and so on, on a type; nothing if there is none. "cas" is
// another instruction.
std::optional<llvm::AtomicRMWInst::BinOp> atomic_operation(llvm::StringRef name, bool is_real,
                                                           bool is_signed);

// Gives the module's own functions names that no library has, adds the library to the module, and replaces
// calls of what it defines for any thread. Other intrinsics stay. The module is for the host, and
// the library for its architecture.
Result<void> add_library(llvm::Module& module, const LibraryIr& library);

} // namespace xaas::cpukernel
