// CUDA kernels on the CPU, as JSON and as text.
#pragma once

#include <xaas/base/json.h>
#include <xaas/image/kernels.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::cli {

// [{"name", "demangled", "source", "form", "reason"}] of demangled kernels.
Json kernels_json(const std::vector<image::CpuKernel>& kernels);

// "11 loops, 1 masked, 1 refused", or "none". `forms`: numbers by form.
std::string forms_text(const Json& forms);

// For people: a line with the numbers, and one for each kernel in another form than `loops` with its reason;
// with `all` for every kernel. `kernels` as of kernels_json(); there may be fewer than `forms` counts.
std::string kernels_text(const Json& forms, const Json& kernels, bool all);

} // namespace xaas::cli
