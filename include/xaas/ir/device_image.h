// The place of device code in a host's module.
//
// Clang compiles the host part of a CUDA source last, with the finished fat binary of its device code as a
// constant in the module (clang/lib/CodeGen/CGCUDANV.cpp; section `.nv_fatbin`), that of a HIP source with
// the bundle of its code objects (section `.hip_fatbin`). A module that waits for its target has a
// placeholder there: what it says of itself it takes with it into any copy of the constant, so it is found by
// its bytes.
#pragma once

#include <xaas/base/result.h>

#include <string>

namespace llvm {
class Module;
}

namespace xaas::ir {

// Whose run-time library reads the constant.
enum class DeviceRuntime { cuda, hip };

// The one of a unit for GPUs, by its architecture.
DeviceRuntime device_runtime(const std::string& arch);

// A fat binary, or a bundle, with nothing for a GPU in it and a mark that no other has: the program starts.
std::string device_image_placeholder(DeviceRuntime runtime);

// True if the module has the placeholder.
bool wants_device_image(const llvm::Module& module);

// Puts `image` in the place of the placeholder. A module with none, or with several: integrity error.
Result<void> set_device_image(llvm::Module& module, const std::string& image);

} // namespace xaas::ir
