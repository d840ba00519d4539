// Whether the device code of an image runs on the GPUs of a machine.
#pragma once

#include <xaas/base/result.h>
#include <xaas/image/deployed.h>
#include <xaas/system/system.h>

#include <string>
#include <vector>

namespace xaas::check {

struct GpuFindings {
  std::vector<std::string> problems; // a sentence for each GPU that no code serves
  std::vector<std::string> unknown;  // what the description lacks for an answer
};

// Both are empty without device code. A description written by hand may lack the driver or architecture of a
// GPU.
Result<GpuFindings> check_gpu_code(const std::vector<image::GpuCode>& code,
                                   const std::vector<system::Gpu>& gpus);

} // namespace xaas::check
