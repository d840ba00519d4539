// What a kernel's code and the run-time library know of a block of threads.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct xaas_checked_block;
struct xaas_checks;

// One block in execution. Kernels only read it.
struct xaas_block {
  uint32_t size[3];      // blockDim
  uint32_t grid[3];      // gridDim
  uint32_t index[3];     // blockIdx
  uint32_t threads;      // in the block
  uint32_t dynamic_size; // bytes of dynamic shared memory
  char* shared;          // the kernel's shared memory, aligned to 256 bytes; the dynamic part is last
  char* arena;           // arrays with an element for each thread, aligned to 256 bytes
  struct xaas_checked_block* checked; // of kernels with checks (checks.h)
};

// A kernel as the table of its module lists it. A kernel that could not be made has a reason and no `run`.
struct xaas_kernel {
  const char* name;
  void (*run)(void** arguments, const struct xaas_block*);
  const char* reason;
  uint32_t shared_bytes;            // of static shared memory
  uint32_t thread_bytes;            // of the arena, for each thread,
  uint32_t arrays;                  // and 64 more for each of these arrays
  uint32_t fibers;                  // 1: run() needs those of xaas_take_fibers()
  const struct xaas_checks* checks; // NULL: the kernel has none
};

// A thread with a stack of its own, as its code sees it.
struct xaas_place {
  const struct xaas_block* block;
  uint32_t x, y, z, t;
  char* dynamic; // dynamic shared memory
};

// A variable that the host can name.
struct xaas_variable {
  const char* name;
  void* address;
  uint64_t size; // bytes
};

// The kernels of one device image. `image` is the text by which the host's part of the program names it.
struct xaas_module {
  const char* image;
  const struct xaas_kernel* kernels;
  const struct xaas_variable* variables;
  const struct xaas_variable* memory; // all variables, if kernels have checks
  uint32_t kernel_count;
  uint32_t variable_count;
  uint32_t memory_count;
  struct xaas_module* next; // of the run-time library
};

enum { xaas_warp_size = 32, xaas_most_threads = 1024 /* of a block */ };

// Threads with stacks of their own (library/fibers.c). The thread of the process that runs blocks first takes
// stacks of `stack_bytes` for the threads of one block, and gives them back after its last block; 0 if there
// is no memory for them.
int xaas_take_fibers(uint32_t threads, size_t stack_bytes);
void xaas_give_fibers(void);
