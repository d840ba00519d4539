// The first step: a module for NVPTX in the host's data layout and with one address space.
#pragma once

#include <xaas/base/result.h>

#include <llvm/ADT/MapVector.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace llvm {
class Function;
class GlobalVariable;
class Module;
} // namespace llvm

namespace xaas::cpukernel {

// Of LLVM's NVPTX back end (llvm/docs/NVPTXUsage.rst, "Address Spaces").
enum AddressSpace : unsigned { generic = 0, shared = 3 };

// An attribute of kernels that link_modules() makes: the source.
constexpr const char* source_attribute = "xaas-source";

// Shared variables, which each block has its own of. `dynamic` ones have the size that a launch asks for.
struct SharedVariables {
  std::vector<llvm::GlobalVariable*> fixed, dynamic;
};

// Errors as make_cpu_module().
Result<SharedVariables> normalise(llvm::Module& module, const std::string& arch);

} // namespace xaas::cpukernel
