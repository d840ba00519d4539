// Kernels that check what they do: what their code and the run-time library know of each other.
// src/cpukernel/checks.cpp makes the constants and the calls; checks.c has the functions.
#pragma once

#include "block.h"

enum xaas_access { xaas_load, xaas_store, xaas_atomic };

// The object that an address was made from, as far as the code shows it.
enum xaas_object {
  xaas_unknown,
  xaas_shared_variable,
  xaas_dynamic_variable, // as large as the launch says
  xaas_global_variable,
  xaas_local_variable
};

// A place in the source and its operation: an access, or a meeting of threads (without a size).
struct xaas_source_place {
  const char* file; // "" and line 0: unknown
  const char* function;
  uint32_t line, column;
  uint32_t size, alignment; // bytes
  uint32_t access;          // enum xaas_access
  uint32_t object;          // enum xaas_object
  uint64_t object_size;     // bytes
  uint32_t has_value;       // a store of at most 8 bytes: its value is passed
  uint32_t number;          // that the run-time library gives to the source place
};

struct xaas_shared_place {
  const char* name;
  uint64_t offset, size; // in the block's shared memory; size 0: of the dynamic part
};

// Of a kernel.
struct xaas_checks {
  const char* name; // as in the source
  const struct xaas_shared_place* shared;
  struct xaas_source_place* const* nodes; // where threads stop, by the index of the node; NULL: for nothing
  uint32_t shared_count;
};

// ---- Called by kernels. `block->checked` is that of the thread of the pool.

// Before an access, whose value is passed if the place says so. Returns the address, or other memory of this
// size if the access is not possible. `object`: start of the object, if it is known.
void* xaas_thread_check_access(const struct xaas_block* block, uint32_t x, uint32_t y, uint32_t z, uint32_t t,
                               void* address, void* object, uint64_t value, struct xaas_source_place* place);
// Before `length` bytes are copied or set. Returns the length, or 0 if that is not possible.
uint64_t xaas_thread_check_range(const struct xaas_block* block, uint32_t x, uint32_t y, uint32_t z,
                                 uint32_t t, void* address, void* object, uint64_t length,
                                 struct xaas_source_place* place);
// Before the threads that xaas_schedule() chose run.
void xaas_check_meeting(const struct xaas_block* block, const uint32_t* nodes, const uint32_t* masks,
                        const uint8_t* run);

// ---- Called by the run-time library

// Memory that kernels may access. `kind`: "an allocation of cudaMalloc()". Freed memory is known as such
// until it is forgotten.
void xaas_checks_add(const void* address, size_t size, const char* kind);
void xaas_checks_free(const void* address);
void xaas_checks_forget(const void* address);

// What a thread of the pool knows of the block that it runs, for a kernel with checks. `stack`: the thread's
// frames below it belong to kernels.
struct xaas_checked_block* xaas_checks_of_thread(const struct xaas_kernel* kernel, const void* stack);
// Before each block. `block` stays until the next one.
void xaas_checks_start(struct xaas_checked_block* checked, const struct xaas_block* block);
