// Will the device code of an image run on the GPUs of a machine.
#pragma once

#include <xaas/base/result.h>
#include <xaas/image/deployed.h>
#include <xaas/system/system.h>

#include <string>
#include <vector>

namespace xaas::check {

struct GpuFindings {
  std::vector<std::string> problems; // what speaks against it: a sentence for each GPU that nothing serves
  std::vector<std::string> unknown;  // what the description lacks, so that it speaks neither for nor against
};

// Neither where there is no device code. A description by hand may lack driver or architecture of a GPU.
Result<GpuFindings> check_gpu_code(const std::vector<image::GpuCode>& code,
                                   const std::vector<system::Gpu>& gpus);

} // namespace xaas::check
