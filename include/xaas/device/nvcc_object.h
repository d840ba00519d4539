// Kernels without IR, in object files that nvcc compiled, or Clang outside of the front door.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xaas::device {

// The kernels in an ELF file with NVIDIA's device code, or in those of an archive, sorted: mangled names, and
// an empty name if those of a file cannot be told. Nothing for any other file. A kernel is known by its stub
// on the host: `__device_stub_` with the mangled name behind it (nvcc), or `__device_stub__` with the
// identifier behind it (clang/lib/CodeGen/CGCUDANV.cpp). For nvcc, an `extern "C"` kernel has the mangled
// name of a C++ function.
std::vector<std::string> nvcc_kernels(std::string_view file);

} // namespace xaas::device
