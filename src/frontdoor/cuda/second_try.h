// What makes Clang take more of what nvcc takes, for a source that it has refused.
#pragma once

#include <xaas/base/file.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

// Launches written as k << <blocks, threads>> >(), which nvcc takes, as k <<< blocks, threads>>> (). No other
// character moves, and strings and comments stay as they are.
std::string with_joined_brackets(const std::string& source);

// Clang's options for another try at a command of nvcc: nvcc's version, for sources that choose between
// releases of CUDA by it; and copies with_joined_brackets() of the CUDA sources among `inputs`, which are
// written into `directory` and must stay there while Clang runs. `cuda_version`: as in cuda.h (12040: 12.4).
// Errors: those of reading a source and of writing its copy.
Result<std::vector<std::string>> second_try(const std::optional<int64_t>& cuda_version,
                                            const std::vector<std::string>& inputs,
                                            const fs::path& directory);

} // namespace xaas::frontdoor
