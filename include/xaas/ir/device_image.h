// The place of device code in a host's module.
//
// Clang compiles the host part of a CUDA source last and embeds the finished fat binary of its device code as
// a constant (clang/lib/CodeGen/CGCUDANV.cpp; section `.nv_fatbin`). For a HIP source it embeds the bundle of
// code objects (section `.hip_fatbin`). A module whose target is not known yet has a placeholder there. The
// marker is inside the bytes, so copies of the constant keep it.
#pragma once

#include <xaas/base/result.h>

#include <string>

namespace llvm {
class Module;
}

namespace xaas::ir {

// The run-time library that reads the constant.
enum class DeviceRuntime { cuda, hip };

// The runtime of a unit for GPUs, by its architecture.
DeviceRuntime device_runtime(const std::string& arch);

// A valid fat binary or bundle without entries, so that the program starts, followed by a unique marker.
std::string device_image_placeholder(DeviceRuntime runtime);

// True if the module has the placeholder.
bool wants_device_image(const llvm::Module& module);

// Replaces the placeholder by `image`. A module with none, or with several: integrity error.
Result<void> set_device_image(llvm::Module& module, const std::string& image);

} // namespace xaas::ir
