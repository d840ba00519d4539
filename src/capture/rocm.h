// HIP as builds find it.
#pragma once

#include <xaas/capture/session.h>

namespace xaas::capture {

// Makes `rocm/` in the session's directory: HIP as a ROCm directory has it, wherever its parts are installed,
// with the front door as bin/hipcc. CMake takes HIP from nothing else.
Result<void> shadow_rocm(const Session& session, const fs::path& program);

// The major version of HIP's headers; nothing where they do not say it.
std::optional<unsigned> hip_version(const Rocm& rocm);

} // namespace xaas::capture
