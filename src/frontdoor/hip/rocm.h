// The HIP installation as builds find it.
#pragma once

#include <xaas/session/session.h>

namespace xaas::frontdoor {

// Creates `rocm/` in the session's directory: a ROCm directory of HIP, wherever its parts are installed, with
// the front door as bin/hipcc. CMake finds HIP only in this form.
Result<void> shadow_rocm(const session::Session& session, const fs::path& program);

// The major version of HIP's headers; nothing if they do not define it.
std::optional<unsigned> hip_version(const session::Rocm& rocm);

// The major version of the LLVM that wrote the device libraries' bitcode; nothing if they are missing or do
// not say.
std::optional<unsigned> llvm_of_device_libraries(const session::Rocm& rocm);

} // namespace xaas::frontdoor
