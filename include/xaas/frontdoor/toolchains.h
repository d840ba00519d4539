// The compilers and toolkits that a build is captured with, and the session directory that stands in for
// them.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <optional>

namespace xaas::frontdoor {

// Makes `directory` with session.json and `tools/` (xaas-cc, xaas-c++, flang, ld: links to `program`). Where
// there is a CUDA toolkit, also `cuda/`: that toolkit, but for its nvcc, which is the front door, too; and
// `cuda-headers/`. Where there is HIP, also `rocm/`: the same as a ROCm directory, with hipcc.
Result<void> create_session(const session::Session& session, const fs::path& program);

// The clang to use: $XAAS_CLANG, else the one this program was built with, else clang-22 on PATH.
// missing_tool if none, or if it is not Clang of this program's version.
Result<fs::path> find_clang();

// The flang to use: $XAAS_FLANG, else the one beside the clang this program was built with, else flang-22 on
// PATH. Nothing if there is none: most projects have no Fortran. missing_tool if $XAAS_FLANG names none
// of this version.
Result<std::optional<fs::path>> find_flang();

// The CUDA toolkit with an nvcc: $CUDA_PATH, $CUDA_HOME, the one whose nvcc is on PATH, /usr/local/cuda.
// Nothing if there is none.
std::optional<fs::path> find_cuda();

// HIP: $ROCM_PATH, $HIP_PATH, the one whose hipcc is on PATH, /opt/rocm, /usr; its device libraries:
// $HIP_DEVICE_LIB_PATH, else where ROCm and Debian have them below it.
session::Rocm find_rocm();

// The error of a build that needs Fortran where there is no flang.
Error missing_flang();
// Writes down that the build called for flang and there is none; the error of that call.
Error note_missing_flang(const session::Session& session);
// True if the build has called for flang and there is none.
bool missed_flang(const session::Session& session);

} // namespace xaas::frontdoor
