// The GPUs that an nvcc command line compiles for.
#pragma once

#include <xaas/base/result.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

struct NvccArchs {
  // The *virtual* architectures that device code is compiled for, as Clang names them and __CUDA_ARCH__ shows
  // them: `sm_80` for `arch=compute_80`, each once. `native`, `all` and `all-major` stay words. Empty: nvcc's
  // default.
  std::vector<std::string> archs;
  // The code that is stored, as written: `sm_86` is machine code, `compute_80` is PTX. `-arch=sm_80` stores
  // both.
  std::vector<std::string> codes;
  bool device_lto = false; // lto_80: code for the device's link-time optimization
};

// Reads the values of -arch (the last one counts), -code and -gencode. Failed: a word is not an architecture,
// this Clang lacks the architecture (sm_100f), or a real architecture stands where nvcc wants a virtual one.
Result<NvccArchs> nvcc_archs(const std::optional<std::string>& arch, const std::vector<std::string>& codes,
                             const std::vector<std::string>& generate_codes);

} // namespace xaas::frontdoor
