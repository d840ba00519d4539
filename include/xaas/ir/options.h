// Conversion between Clang's invocation and the typed options of a unit.
#pragma once

#include <xaas/ir/unit.h>

#include <optional>
#include <string>
#include <vector>

namespace clang {
class CompilerInvocation;
}

namespace xaas::ir {

// The options of an invocation that decide how its IR is lowered. A failed error names the option that cannot
// be carried (a profile, a sanitizer, a pass plugin); the caller then carries the object natively.
Result<UnitOptions> options_of(const clang::CompilerInvocation& invocation);

// Sets the options in an invocation with Clang's defaults. A name that this LLVM does not know, or a value
// out of range: integrity error.
Result<void> apply_options(const UnitOptions& options, clang::CompilerInvocation& invocation);

// The options of LLVM's GPU back ends that a unit may have. Clang passes them on as `-mllvm`, and they are
// global to the process. NVPTX: the precision of single-precision square roots and divisions. AMDGPU: the
// version of the code object, whether functions that no kernel needs are left out, and what is inlined.
struct GpuOption {
  const char* name;   // in UnitOptions::gpu
  const char* prefix; // the option, without its value
  int64_t largest;    // values are 0 to this
};
const std::vector<GpuOption>& gpu_options();

// True for an option of LLVM's AMDGPU back end. Clang's driver also passes it to the compile for the host,
// where it has no effect.
bool is_amdgpu_option(const std::string& argument);

// Also in UnitOptions::gpu, though not an option of LLVM: CUDA_VERSION of the headers (12040 for 12.4), and
// so of the run-time library that the program is linked with.
inline constexpr const char* cuda_version = "CudaVersion";
// Options that Clang's driver passes to NVIDIA's assembler: -O, -g, -maxrregcount.
inline constexpr const char* ptxas_level = "PtxasLevel";
inline constexpr const char* ptxas_debug = "PtxasDebug";
inline constexpr const char* ptxas_registers = "PtxasRegisters";

// The option that keeps a unit out of LTO, where one process generates code for many units and knows of each
// only what its IR carries. Nothing if the unit can take part.
std::optional<std::string> lto_obstacle(const UnitOptions& options);
// The option that keeps a unit's module out of prepared form (prepared.h). Nothing if there is none.
std::optional<std::string> preparation_obstacle(const UnitOptions& options);

} // namespace xaas::ir
