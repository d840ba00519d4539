// The compilers and toolkits that capture a build, and the session directory that stands in for them.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <optional>

namespace xaas::frontdoor {

// Creates the session's directory with session.json and `tools/` (clang, clang++, flang, ld: links to
// `program`). With a CUDA toolkit, also `cuda/`, a mirror of the toolkit whose nvcc is the front door, and
// `cuda-headers/`. With HIP, also `rocm/`, a ROCm directory whose hipcc is the front door.
Result<void> create_session(const session::Session& session, const fs::path& program);

// The clang to use: $XAAS_CLANG, else the one that this program was built with, else clang-22 on PATH.
// missing_tool: there is none, or it is not Clang of this program's version.
Result<fs::path> find_clang();

// The flang to use: $XAAS_FLANG, else the one beside the clang this program was built with, else flang-22 on
// PATH. Nothing if there is none, because most projects have no Fortran. missing_tool: $XAAS_FLANG does not
// name a flang of this version.
Result<std::optional<fs::path>> find_flang();

// The CUDA toolkit with an nvcc: $CUDA_PATH, $CUDA_HOME, the toolkit of the nvcc on PATH, /usr/local/cuda.
// Nothing if there is none.
std::optional<fs::path> find_cuda();

// HIP: $ROCM_PATH, $HIP_PATH, the installation of the hipcc on PATH, /opt/rocm, /usr. Its device libraries:
// $HIP_DEVICE_LIB_PATH, else their directory in ROCm or Debian.
session::Rocm find_rocm();

// The NASM on PATH, whose objects a build keeps (frontdoor/assembly). None if its file cannot be read.
session::Nasm find_nasm();

// The error of a build that needs Fortran without a flang.
Error missing_flang();
// Records that the build called flang and there is none. Returns the error of that call.
Error note_missing_flang(const session::Session& session);
// True if the build called flang and there is none.
bool missed_flang(const session::Session& session);

} // namespace xaas::frontdoor
