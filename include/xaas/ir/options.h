// Between Clang's invocation and the typed options of a unit.
#pragma once

#include <xaas/ir/unit.h>

#include <optional>
#include <string>
#include <vector>

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

// The options of LLVM's GPU back ends that a unit may have, and that are the process's: Clang passes them on
// (`-mllvm`). NVPTX: how exact single-precision square roots and divisions are. AMDGPU: the version of the
// code object, whether functions that no kernel needs are kept out of it, and what is inlined.
struct GpuOption {
  const char* name;   // in UnitOptions::gpu
  const char* prefix; // the option, without its value
  int64_t largest;    // values are 0 to this
};
const std::vector<GpuOption>& gpu_options();

// True for an option of LLVM's AMDGPU back end, which Clang's driver gives the compile for the host, too,
// where it means nothing.
bool is_amdgpu_option(const std::string& argument);

// Also in UnitOptions::gpu: CUDA_VERSION of the headers (12040 for 12.4), so of the run-time library that the
// program is linked with. No option of LLVM's.
inline constexpr const char* cuda_version = "CudaVersion";
// What Clang's driver asks NVIDIA's assembler for: -O, -g, -maxrregcount.
inline constexpr const char* ptxas_level = "PtxasLevel";
inline constexpr const char* ptxas_debug = "PtxasDebug";
inline constexpr const char* ptxas_registers = "PtxasRegisters";

// Why a unit with these options cannot take part in LTO, where one process generates code for many units and
// knows of each what its IR says: the option that IR does not carry. Nothing if it can.
std::optional<std::string> lto_obstacle(const UnitOptions& options);

} // namespace xaas::ir
