// Will the device code of an image run on the GPUs of a machine.
#pragma once

#include <xaas/base/result.h>
#include <xaas/image/deployed.h>
#include <xaas/system/system.h>

#include <string>
#include <vector>

namespace xaas::verify {

// What speaks against it, a sentence for each GPU that nothing serves. None where there is no device code. A
// description by hand may lack driver or architecture: what is not known speaks against nothing.
Result<std::vector<std::string>> check_gpu_code(const std::vector<image::GpuCode>& code,
                                                const std::vector<system::Gpu>& gpus);

} // namespace xaas::verify
