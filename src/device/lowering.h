// From the IR of device jobs to PTX, AMD objects, or bitcode.
#pragma once

#include <xaas/device/make.h>

namespace xaas::device {

// By job: PTX or an AMD object, and bitcode for jobs that are linked.
struct LoweredDeviceCode {
  std::map<DeviceJob, std::string> code;
  uint64_t lowered = 0, cached = 0;
};
Result<LoweredDeviceCode> lower_device_code(const DeviceInputs& inputs, const std::set<DeviceJob>& jobs);

// The GPU of a job, as LLVM's target.
target::Cpu target_of(const DeviceJob& job);

// The options that Clang's driver would give the assembler; -O3 where the unit names no level.
AssembleOptions assemble_options(const ir::UnitOptions& options);

} // namespace xaas::device
