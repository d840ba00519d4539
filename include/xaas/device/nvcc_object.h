// Object files with kernels and without IR: nvcc compiled them, or Clang outside of the front door.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xaas::device {

// The kernels in an object file with NVIDIA's device code, sorted: mangled names, or one empty name if they
// cannot be told. Nothing for any other file. A kernel is known by its stub on the host: `__device_stub_`
// with the mangled name behind it (nvcc), or `__device_stub__` with the identifier behind it
// (clang/lib/CodeGen/CGCUDANV.cpp). For nvcc, an `extern "C"` kernel has the mangled name of a C++ function.
std::vector<std::string> nvcc_kernels(std::string_view object);

} // namespace xaas::device
