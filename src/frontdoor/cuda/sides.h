// The two sides of a CUDA compile: options for code of the host, and for code of the device.
#pragma once

#include "cuda/nvcc.h"
#include "cuda/request.h"

namespace xaas::frontdoor {

// Options of the host's side: nvcc's own and those that it passes on to the host compiler, each for the side
// that it is for. Options that only a link reads are left out unless `links`: nvcc's host compiler is silent
// about them, Clang warns.
Result<Words> host_options(const NvccRequest& request, const NvccInputs& inputs, bool links);

NvccMath math_of(const NvccRequest& request);

Words device_options(const NvccRequest& request, const NvccTranslation& translation);

} // namespace xaas::frontdoor
