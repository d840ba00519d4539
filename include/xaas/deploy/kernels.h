// The CUDA kernels of an IR image, and the form that each has where it is deployed for running on the CPU.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/image/application_image.h>
#include <xaas/image/kernels.h>
#include <xaas/lower/object_cache.h>

#include <string>
#include <vector>

namespace xaas::deploy {

struct ImageKernel {
  image::CpuKernel kernel;                 // demangled
  std::vector<std::string> configurations; // that have it, by id
};

// Why configurations cannot be deployed for running their kernels on the CPU. Their kernels are not read.
struct KernelObstacle {
  std::string reason;
  std::vector<std::string> configurations;
};

struct ImageKernels {
  std::vector<ImageKernel> kernels; // sorted, each once
  std::vector<KernelObstacle> obstacles;
};

// The kernels of all configurations with IR. Reads those modules of the image that `cache` (null: none) does
// not answer for, in workers (lower/lower.h). Writes temporary files only.
Result<ImageKernels> kernels_of(const image::ApplicationImage& source, const lower::ObjectCache* cache,
                                unsigned jobs, Progress& progress = no_progress());

} // namespace xaas::deploy
