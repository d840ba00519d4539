// Runs ptxas within limits.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/result.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace xaas::device {

inline constexpr uint64_t largest_cubin = uint64_t(1) << 30; // of the kernels of one source

struct AssemblerLimits {
  std::chrono::seconds time; // of the CPU; four times as much by the clock
  uint64_t memory;           // bytes
  uint64_t file = largest_cubin;
};

// Errors: failed if it takes longer, missing_tool if it cannot be started.
Result<ProcessResult> run_assembler(const fs::path& program, const std::vector<std::string>& arguments,
                                    const fs::path& directory, const AssemblerLimits& limits);

} // namespace xaas::device
