// AMD's device code: code objects, and the bundle of several in one file, from which the HIP run-time library
// takes the one that fits the GPU. The wrapper that a program passes to __hipRegisterFatBinary points to a
// bundle.
//
// Sources: "Clang Offload Bundler" (clang/docs/ClangOffloadBundler.rst), "Bundled Binary File Layout" and
// "Bundle Entry ID"; "User Guide for AMDGPU Backend" (llvm/docs/AMDGPUUsage.rst), "ELF Code Object", "Code
// Object Metadata". All numbers are little-endian.
//
//   file     24 bytes "__CLANG_OFFLOAD_BUNDLE__", u64 number of entries
//   entries  u64 offset and u64 size of its bytes in the file, u64 length of its ID, the ID
//   bytes of the entries, in their order, each at a multiple of 4096, with zeros between them
//
// The first entry is the host's ("host-x86_64-unknown-linux-gnu-"), without bytes; a code object's ID is
// "hipv4-amdgcn-amd-amdhsa--gfx90a".
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace xaas::device {

struct CodeObject {
  std::string arch; // "gfx90a"
  std::string bytes;
};

// The bundle that clang-offload-bundler makes for HIP of these code objects, in their order; without any, a
// bundle with no code for a GPU. Usage error: an architecture that is unknown or not AMD's. Integrity error:
// bytes that are not a code object for the architecture.
Result<std::string> code_object_bundle(const std::vector<CodeObject>& objects);

struct BundleEntry {
  std::string id;         // "hipv4-amdgcn-amd-amdhsa--gfx90a"
  std::string_view bytes; // of the input
};

// The entries of a bundle, or of several bundles separated only by zeros up to a multiple of 4096 bytes, as
// in a program's section `.hip_fatbin`. `bytes` must outlive the result. The input is untrusted: damage is an
// integrity error. The bytes of the entries are not checked.
Result<std::vector<BundleEntry>> parse_code_object_bundle(std::string_view bytes);

// The architecture in an ID, with its settings ("gfx90a:xnack+"); "" for the host's entry and others.
std::string arch_of_entry(const std::string& id);

struct CodeObjectFacts {
  std::string arch;                 // from its flags, with its settings: "gfx90a", "gfx90a:xnack+"
  unsigned version = 0;             // of the code object ABI: 4, 5, 6
  std::vector<std::string> kernels; // from its metadata, in that order
};

// The facts that a code object states, with a check for each kernel's descriptor. Integrity error for
// anything but a linked code object for AMD's HSA run-time library, version 4 to 6.
Result<CodeObjectFacts> read_code_object(std::string_view bytes);

} // namespace xaas::device
