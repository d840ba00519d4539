// Links of device code. The units' code for one device becomes one image, and the program gets an object that
// registers its images at start, as with Clang's -foffload-lto.
//
// Sources: clang/docs/OffloadingDesign.rst; llvm/Frontend/Offloading/OffloadWrapper.h;
// llvm/Object/OffloadBinary.h.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/target/cpu.h>

#include <string>
#include <vector>

namespace xaas::lower {

struct DeviceInput {
  std::string source;  // for messages
  std::string bitcode; // lowered as Form::lto
  ir::UnitOptions options;
};

// The options for the link of units with these options: the highest optimization level, and the most precise
// single-precision arithmetic that any of them asks for.
ir::UnitOptions link_options(const std::vector<ir::UnitOptions>& units);

// Links device code for a GPU, with `features` of the back end (+ptx88), and generates PTX for NVIDIA, an
// object for AMD. Keeps kernels and variables that the host can name, and drops functions without callers.
// Runs in a worker, so it must be called from a process with one thread. Two definitions of a symbol, or a
// symbol of the wrong type: failed, with the sources. Bitcode that cannot be read: integrity error.
Result<std::string> link_device_code(const std::vector<DeviceInput>& inputs,
                                     const std::vector<std::string>& libraries, const target::Cpu& gpu,
                                     const std::vector<std::string>& features);

// One device image in the form that OpenMP's runtime library reads.
struct OpenMpImage {
  std::string triple; // LLVM's, such as nvptx64-nvidia-cuda
  std::string arch;   // such as sm_80; "" for the host
  std::string bytes;  // an ELF file
};

// A host object (`arch`: "x86_64") with a constructor that registers the device code for the program's
// offload entries: a fat binary with CUDA's run-time library, a bundle of code objects with HIP's, images
// with OpenMP's.
Result<std::string> cuda_registration(const std::string& fat_binary, const std::string& arch);
Result<std::string> hip_registration(const std::string& bundle, const std::string& arch);
Result<std::string> openmp_registration(const std::vector<OpenMpImage>& images, const std::string& arch);

} // namespace xaas::lower
