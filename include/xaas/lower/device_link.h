// Device code that is linked: the units' code for one device becomes one image, and the program gets an
// object that registers its images when it starts.
//
// Sources: clang/docs/OffloadingDesign.rst; llvm/Frontend/Offloading/OffloadWrapper.h;
// llvm/Object/OffloadBinary.h. As Clang does it with -foffload-lto.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/target/cpu.h>

#include <string>
#include <vector>

namespace xaas::lower {

struct DeviceInput {
  std::string source;  // for messages
  std::string bitcode; // of Form::lto
  ir::UnitOptions options;
};

// What the link of units with these options is generated with: the highest level of optimisation, and where
// they differ on how exact single-precision arithmetic is, the most exact.
ir::UnitOptions link_options(const std::vector<ir::UnitOptions>& units);

// Links device code for a GPU, with `features` of the back end (+ptx88), and generates PTX for one of
// NVIDIA's, an object for one of AMD's. Kernels and variables that the host can name stay, what nobody calls
// goes. Must be called from a process with one thread: it is done in a worker. Two definitions of a symbol, a
// symbol of the wrong type: failed, with the sources. Bitcode that cannot be read: integrity.
Result<std::string> link_device_code(const std::vector<DeviceInput>& inputs,
                                     const std::vector<std::string>& libraries, const target::Cpu& gpu,
                                     const std::vector<std::string>& features);

// One image of a device, as OpenMP's runtime library gets it.
struct OpenMpImage {
  std::string triple; // of LLVM: nvptx64-nvidia-cuda
  std::string arch;   // sm_80; "" for the host
  std::string bytes;  // an ELF file
};

// An object of the host (`arch`: "x86_64") with a constructor that registers what the program's offload
// entries name: in a fat binary with CUDA's run-time library, in a bundle of code objects with HIP's, in
// images with OpenMP's.
Result<std::string> cuda_registration(const std::string& fat_binary, const std::string& arch);
Result<std::string> hip_registration(const std::string& bundle, const std::string& arch);
Result<std::string> openmp_registration(const std::vector<OpenMpImage>& images, const std::string& arch);

} // namespace xaas::lower
