// AMD's device code: code objects, and the bundle of several in one file, of which the HIP run-time library
// takes the one that fits the GPU. The wrapper that a program hands to __hipRegisterFatBinary points to one.
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

// What clang-offload-bundler makes of the code objects, in their order, for HIP: without any, a bundle with
// nothing for a GPU. An architecture that is unknown or not AMD's is a usage error; what is no code object
// for the architecture is an integrity error.
Result<std::string> code_object_bundle(const std::vector<CodeObject>& objects);

struct BundleEntry {
  std::string id;         // "hipv4-amdgcn-amd-amdhsa--gfx90a"
  std::string_view bytes; // of the input
};

// The entries of a bundle, or of several with nothing but zeros up to a multiple of 4096 bytes between them:
// a program's section `.hip_fatbin` is such. `bytes` must outlive the result; it may be a stranger's: what is
// damaged is an integrity error. The bytes of the entries are not looked at.
Result<std::vector<BundleEntry>> parse_code_object_bundle(std::string_view bytes);

// The architecture that an ID names, with its settings ("gfx90a:xnack+"); "" for the host's and others.
std::string arch_of_entry(const std::string& id);

struct CodeObjectFacts {
  std::string arch;                 // of its flags, with its settings: "gfx90a", "gfx90a:xnack+"
  unsigned version = 0;             // of the code object ABI: 4, 5, 6
  std::vector<std::string> kernels; // names as its metadata has them, in their order
};

// What a code object says of itself, with each kernel's descriptor there. Anything else than a linked code
// object for AMD's HSA run-time library, version 4 to 6: integrity error.
Result<CodeObjectFacts> read_code_object(std::string_view bytes);

} // namespace xaas::device
