// Helpers of the tests for CUDA's tools.
#pragma once

#include <xaas/device/assembler.h>

#include <optional>
#include <string>

namespace xaas::device {

// The machine's own; nothing without a CUDA toolkit.
inline std::optional<Assembler> machines_assembler() {
  Result<Assembler> assembler = find_assembler(places_of_environment());
  return assembler ? std::optional(*std::move(assembler)) : std::nullopt;
}

// A kernel in the form that CUDA's tools write: without comments and indentation.
inline std::string kernel(const std::string& arch, const std::string& version = "9.0",
                          const std::string& number = "42") {
  return ".version " + version + "\n.target " + arch +
         "\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n"
         "ld.param.u64 %rd1, [p];\nmov.u32 %r1, " +
         number + ";\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
}

} // namespace xaas::device
