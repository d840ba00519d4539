// CUDA kernels on the CPU: what became of each, as deploying records it (annotation `dev.xaas.kernels`).
#pragma once

#include <xaas/base/result.h>
#include <xaas/oci/image.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::image {

namespace annotation {
inline constexpr const char* kernels = "dev.xaas.kernels";
} // namespace annotation

// Forms by name. A newer xaas may know others.
inline constexpr const char* kernel_loops = "loops"; // the fastest
inline constexpr const char* kernel_refused = "refused";

struct CpuKernel {
  std::string source, name; // the name is mangled
  std::string form;
  std::string reason;         // why the kernel is not in a simpler form, or not in any
  std::string demangled = {}; // the name in the source; not recorded, see demangle()
  auto operator<=>(const CpuKernel&) const = default;
};

// Fills in `demangled`. Must be called from a process with one thread.
void demangle(std::vector<CpuKernel>& kernels);

// The kernels of an image.
struct CpuKernels {
  std::map<std::string, uint64_t> forms; // how many there are, by form
  std::vector<CpuKernel> kernels;        // sorted; of a deployed image perhaps not all
};
CpuKernels cpu_kernels(std::vector<CpuKernel> kernels);

// Compact JSON: {"forms", "kernels": [{"source", "name", "form", "reason"}]}, with `reason` only if there is
// one. Longer than `limit` bytes, it is without the kernels in the form `loops`, then without all that are
// not refused, then without any.
std::string to_annotation(const CpuKernels& kernels, size_t limit = size_t(512) << 10);

// Of a deployed image; nothing without the annotation: its kernels do not run on the CPU, or an older xaas
// deployed it. Integrity error if malformed.
Result<std::optional<CpuKernels>> cpu_kernels_of(const oci::Image& image);

} // namespace xaas::image
