// Problem: a program with CUDA code calls CUDA's run-time library, which needs a driver and a GPU.
//
// Approach: this library takes its place when a program is deployed for the CPU. Its one device is the CPU.
// Device memory is the host's. A launch runs the blocks of a grid on a pool of threads and returns when all
// have ended; so every stream is idle whenever the host asks, which is one of the orders that CUDA allows, and
// copies need no queue. Blocks start in ascending order and run to their end, so a block may wait for blocks
// before it (decoupled look-back).
//
// The library is compiled to IR with the project and lowered with the program. Functions that it lacks are
// given to the program by the deploy: each says so once and returns cudaErrorNotSupported
// (xaas_not_supported() below).
//
// It is one translation unit, of parts in runtime/, so that all but CUDA's functions stay internal.
//
// Sources: CUDA Runtime API (functions, error codes, structures); the stubs that Clang generates
// (clang/lib/CodeGen/CGCUDANV.cpp).
#include "checks.h"
#include "system.h"

enum {
  success = 0,
  invalid_value = 1,
  memory_allocation = 2,
  invalid_configuration = 9,
  invalid_symbol = 13,
  invalid_device_function = 98,
  no_device = 100,
  invalid_device = 101,
  invalid_resource_handle = 400,
  not_ready = 600,
  assertion = 710,
  not_supported = 801
};
typedef int error;

// The deploy defines them: CUDA's release as 12040, the architecture of the kernels' IR as 800, and whether
// kernels have checks. If not, functions of checks.c are not there.
extern const int xaas_cuda_release, xaas_architecture, xaas_checked;

struct dim3 {
  unsigned x, y, z;
};

#include "runtime/errors.c"
#include "runtime/pool.c"
#include "runtime/registration.c"
#include "runtime/launches.c"
#include "runtime/memory.c"
#include "runtime/memory_pools.c"
#include "runtime/streams.c"
#include "runtime/device.c"
#include "runtime/device_functions.c"
