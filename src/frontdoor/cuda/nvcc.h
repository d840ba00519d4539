// Translates a command line of nvcc into one of clang++ in CUDA mode.
#pragma once

#include "cuda/options.h"

#include <xaas/base/file.h>

namespace xaas::frontdoor {

// Inputs of the translation besides the command line.
struct NvccContext {
  fs::path toolkit;          // the CUDA toolkit; empty: Clang looks for one, and no path of it is passed
  OptionsFileReader read;    // reads an options file by the name in the command
  std::string prepend_flags; // $NVCC_PREPEND_FLAGS
  std::string append_flags;  // $NVCC_APPEND_FLAGS
  // The first directory for #include "..." in CUDA sources; empty: none.
  fs::path first_headers = {};
};

enum class NvccPhase {
  link, // compile the sources, and link
  compile,
  preprocess,
  dependencies, // -M, -MM
  archive,      // -lib
  device_link,  // -dlink: `arguments` are empty
};

// The precision of the device's single-precision arithmetic; by default that of IEEE 754. The IR records
// flushing and contraction, and -fapprox-func, which covers division and square root under --use_fast_math.
// Otherwise these two are options of LLVM's code generator and of libdevice (-nvptx-prec-divf32,
// -nvptx-prec-sqrtf32, __CUDA_PREC_SQRT), which a later lowering must take from here. Unlike nvcc, LLVM by
// default tells libdevice that sqrtf need not be exact.
struct NvccMath {
  bool flush_denormals = false;
  bool exact_division = true;
  bool exact_square_root = true;
  bool contract = true;
};

struct NvccTranslation {
  // The command asks nvcc for its version, its help or its plan (--version, --help, --dryrun,
  // --list-gpu-arch). No other member is set, and only the real nvcc can answer.
  bool is_query = false;
  // -v: the caller may read nvcc's own output, in which CMake finds the toolkit and the default architecture.
  // CMake's test that the compiler is nvcc needs __NVCC__. Clang does not define it (nor __CUDACC_VER_MAJOR__
  // and its like), and neither do we: headers use it to detect nvcc's own keywords and built-in functions.
  // Only a source that fails to compile gets the versions: see second_try.h.
  bool is_verbose = false;

  NvccPhase phase = NvccPhase::link;
  // For clang++, without argv[0] and without GPU architectures: see with_architectures().
  std::vector<std::string> arguments;
  std::vector<std::string> inputs; // as given
  std::string output;              // of -o; "" if not given
  bool has_cuda = false;           // an input is CUDA source

  std::vector<std::string> gpu_archs; // see NvccArchs
  std::vector<std::string> gpu_codes;
  bool relocatable_device_code = false; // -rdc=true, -dc
  bool device_lto = false;              // -dlto and lto_80; Clang's -foffload-lto is not among the arguments
  NvccMath math;
  std::vector<std::string> ptxas_options, nvlink_options; // also among the arguments
  // -ccbin, dropped because Clang is the host compiler. A wrapper (mpicxx) would have added its own options.
  std::string host_compiler;
};

// Returns Clang's command for the same program, in which:
// - Options for the host compiler go to the host's side only (-Xarch_host), because nvcc's device compiler
//   never sees them: -Xcompiler -ffast-math must not change a kernel. Macros, include directories, -std, -m
//   and -fopenmp are for both sides; Clang uses of the latter two what applies to the device.
// - nvcc's -O is the host's level, 0 by default; device code is always compiled with -O3, except with -G.
// - Device arithmetic follows NvccMath. The default C++ standard is Clang's, as nvcc's is its host
//   compiler's.
// - A link gets the CUDA run-time library (static unless -cudart says otherwise), and links device code
//   (--offload-link) unless there is -nodlink.
// - Options that warn, measure or speed up nvcc's own work are dropped. So are warnings as errors: Clang's
//   warnings differ from nvcc's, and Clang warns about every CUDA release that is newer than itself. One
//   warning becomes an error, that an attribute is ignored, because Clang ignores __managed__.
//
// Failed errors name the option that nvcc or Clang does not know, or that changes the program in a way that
// Clang cannot express. The caller then runs the real nvcc, and carries the result as it is.
//
// Source: the help of nvcc 13.0, the options of Clang 22, and the commands that nvcc 13.0 gives its host
// compiler.
Result<NvccTranslation> clang_arguments(const std::vector<std::string>& nvcc_arguments,
                                        const NvccContext& context);

// The arguments with `--offload-arch=` for each of `archs` (`sm_80`), if device code is compiled or linked.
// Preprocessing has one output, and so names only the first.
std::vector<std::string> with_architectures(const NvccTranslation& translation,
                                            const std::vector<std::string>& archs);

} // namespace xaas::frontdoor
