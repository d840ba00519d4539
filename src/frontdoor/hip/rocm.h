// HIP as builds find it.
#pragma once

#include <xaas/session/session.h>

namespace xaas::frontdoor {

// Makes `rocm/` in the session's directory: HIP as a ROCm directory has it, wherever its parts are installed,
// with the front door as bin/hipcc. CMake takes HIP from nothing else.
Result<void> shadow_rocm(const session::Session& session, const fs::path& program);

// The major version of HIP's headers; nothing where they do not say it.
std::optional<unsigned> hip_version(const session::Rocm& rocm);

} // namespace xaas::frontdoor
