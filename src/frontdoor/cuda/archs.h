// Which GPUs an nvcc command line compiles for.
#pragma once

#include <xaas/base/result.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

struct NvccArchs {
  // What device code is compiled for, as Clang names it and __CUDA_ARCH__ has it: the *virtual*
  // architectures, `sm_80` for `arch=compute_80`, each once. `native`, `all` and `all-major` stay words.
  // Empty: nvcc's default.
  std::vector<std::string> archs;
  // What is stored of it, as written: `sm_86` is machine code, `compute_80` PTX. An `-arch=sm_80` stores
  // both.
  std::vector<std::string> codes;
  bool device_lto = false; // lto_80: code for the device's link-time optimisation
};

// From the values of -arch (the last one counts), -code and -gencode. Errors (kind `failed`): a word that is
// no architecture, one that this Clang does not have (sm_100f), a real architecture where nvcc wants a
// virtual one.
Result<NvccArchs> nvcc_archs(const std::optional<std::string>& arch, const std::vector<std::string>& codes,
                             const std::vector<std::string>& generate_codes);

} // namespace xaas::frontdoor
