// The place of device code in a host's module.
//
// Clang compiles the host part of a CUDA source last, with the finished fat binary of its device code as a
// constant in the module (clang/lib/CodeGen/CGCUDANV.cpp; section `.nv_fatbin`). A module that waits for its
// target has a placeholder there: what it says of itself it takes with it into any copy of the constant, so
// it is found by its bytes.
#pragma once

#include <xaas/base/result.h>

#include <string>

namespace llvm {
class Module;
}

namespace xaas::ir {

// A fat binary without entries and a mark that no other has.
std::string device_image_placeholder();

// True if the module has the placeholder.
bool wants_device_image(const llvm::Module& module);

// Puts `image` in the place of the placeholder. A module with none, or with several: integrity error.
Result<void> set_device_image(llvm::Module& module, const std::string& image);

} // namespace xaas::ir
