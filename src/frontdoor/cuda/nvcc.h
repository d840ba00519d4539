// A command line of nvcc as one of clang++ in CUDA mode.
#pragma once

#include "cuda/options.h"

#include <xaas/base/file.h>

namespace xaas::frontdoor {

// What the translation needs beside the command line.
struct NvccContext {
  fs::path toolkit;          // the CUDA toolkit; empty: Clang looks for one, nothing of it is named
  OptionsFileReader read;    // an options file by its name, as the command has it
  std::string prepend_flags; // $NVCC_PREPEND_FLAGS
  std::string append_flags;  // $NVCC_APPEND_FLAGS
  // Where "..." is looked for first in CUDA sources; empty: nowhere in particular.
  fs::path first_headers = {};
};

enum class NvccPhase {
  link, // compile what has to be compiled, and link
  compile,
  preprocess,
  dependencies, // -M, -MM
  archive,      // -lib
  device_link,  // -dlink: `arguments` are empty
};

// How exact the device's single-precision arithmetic has to be; by default as exact as IEEE 754 has it. What
// flushes and what contracts is in the IR, as is -fapprox-func, which stands for the other two under
// --use_fast_math. Else those are options of LLVM's code generator and of what libdevice is told
// (-nvptx-prec-divf32, -nvptx-prec-sqrtf32, __CUDA_PREC_SQRT): a later lowering has to take them from here.
// By default, and unlike nvcc, LLVM tells libdevice that sqrtf need not be exact.
struct NvccMath {
  bool flush_denormals = false;
  bool exact_division = true;
  bool exact_square_root = true;
  bool contract = true;
};

struct NvccTranslation {
  // The command asks nvcc for its version, its help or what it would do (--version, --help, --dryrun,
  // --list-gpu-arch): nothing else is filled in, and only the real nvcc can answer.
  bool is_query = false;
  // -v: who asked may read nvcc's own words; CMake finds the toolkit and the default architecture in them,
  // and its test that the compiler is nvcc needs __NVCC__, which Clang does not define (nor
  // __CUDACC_VER_MAJOR__ and its like) and we do not either: headers ask it for nvcc's own keywords and
  // built-in functions.
  bool is_verbose = false;

  NvccPhase phase = NvccPhase::link;
  // For clang++, without argv[0] and without GPU architectures: see with_architectures().
  std::vector<std::string> arguments;
  std::vector<std::string> inputs; // as given
  std::string output;              // of -o; "" where not given
  bool has_cuda = false;           // an input is CUDA source

  std::vector<std::string> gpu_archs; // see NvccArchs
  std::vector<std::string> gpu_codes;
  bool relocatable_device_code = false; // -rdc=true, -dc
  bool device_lto = false;              // -dlto and lto_80; Clang's -foffload-lto is not among the arguments
  NvccMath math;
  std::vector<std::string> ptxas_options, nvlink_options; // these are among the arguments, too
  // -ccbin. Dropped: Clang is the host compiler. A wrapper (mpicxx) would have added options of its own.
  std::string host_compiler;
};

// What Clang has to be told for the same program. In it:
// - Options for the host compiler go to the host's side only (-Xarch_host), since nvcc's device compiler
//   never sees them: -Xcompiler -ffast-math must not change a kernel. Macros, include directories, -std, -m
//   and -fopenmp are for both sides; Clang takes from the latter two what the device can use.
// - nvcc's -O is the host's level, 0 without it; device code is always compiled with -O3, but for -G.
// - Device arithmetic is as NvccMath says. The default C++ standard is Clang's, as nvcc's is that of its
//   host compiler.
// - A link gets the CUDA run-time library (static, if -cudart does not say otherwise), and device code is
//   linked with it (--offload-link) unless there is -nodlink.
// - What warns, measures or speeds up nvcc's own work is dropped. Warnings as errors, too: Clang warns of
//   other things than nvcc, also of every CUDA release that is newer than itself. One warning becomes an
//   error: that an attribute is ignored, which is what Clang does with __managed__.
//
// Errors (kind `failed`) name the option: it is unknown to nvcc or Clang, or it changes the program in a way
// that Clang cannot express. The caller then has the real nvcc do the work, and carries the result as it is.
//
// Source: the help of nvcc 13.0, the options of Clang 22, and the commands that nvcc 13.0 gives its host
// compiler.
Result<NvccTranslation> clang_arguments(const std::vector<std::string>& nvcc_arguments,
                                        const NvccContext& context);

// The arguments with `--offload-arch=` for each of `archs` (`sm_80`), where device code is compiled or
// linked. Preprocessing names only the first: it has one output.
std::vector<std::string> with_architectures(const NvccTranslation& translation,
                                            const std::vector<std::string>& archs);

} // namespace xaas::frontdoor
