// Launches, and queries about kernels.

struct configuration {
  struct dim3 grid, block;
  size_t shared;
  void* stream;
};
static _Thread_local struct configuration pushed[8];
static _Thread_local unsigned pushed_count;

unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, void* stream) {
  if (pushed_count == sizeof(pushed) / sizeof(*pushed))
    return (unsigned)result(invalid_configuration);
  pushed[pushed_count++] = (struct configuration){grid, block, shared, stream};
  return 0;
}
error __cudaPopCallConfiguration(struct dim3* grid, struct dim3* block, size_t* shared, void* stream) {
  if (pushed_count == 0)
    return result(invalid_configuration);
  const struct configuration* top = &pushed[--pushed_count];
  *grid = top->grid;
  *block = top->block;
  *shared = top->shared;
  memcpy(stream, &top->stream, sizeof(top->stream));
  return success;
}

// Kernels compute blockIdx.x * blockDim.x + threadIdx.x without overflow (src/cpukernel/facts.cpp).
static int fits(unsigned grid, unsigned block) {
  return grid > 0 && block > 0 && (uint64_t)grid * block <= INT32_MAX;
}
// Of a block. Shared memory: what every kernel may have, and what one may have that asks for it.
enum { most_threads = xaas_most_threads, most_threads_z = 64, most_blocks_yz = 65535, usual_shared = 48 * 1024, most_shared = 227 * 1024 };

error cudaLaunchKernel(const void* function, struct dim3 grid, struct dim3 block, void** arguments, size_t shared,
                       void* stream) {
  (void)stream;
  const struct known_function* known = function_of(function);
  if (!known || !known->kernel || !known->kernel->run) {
    fprintf(stderr, "xaas: kernel %s has no code for the CPU: %s\n", known ? known->name : "(unknown)",
            known && known->kernel ? known->kernel->reason : "it was not compiled to IR");
    return result(invalid_device_function);
  }
  if (!fits(grid.x, block.x) || !fits(grid.y, block.y) || !fits(grid.z, block.z) ||
      (uint64_t)block.x * block.y * block.z > most_threads || block.z > most_threads_z ||
      grid.y > most_blocks_yz || grid.z > most_blocks_yz || known->kernel->shared_bytes + shared > most_shared)
    return result(invalid_configuration);
  struct work work = {.kernel = known->kernel, .arguments = arguments};
  work.block = (struct xaas_block){.size = {block.x, block.y, block.z},
                                   .grid = {grid.x, grid.y, grid.z},
                                   .threads = block.x * block.y * block.z,
                                   .dynamic_size = (uint32_t)shared};
  work.blocks = (uint64_t)grid.x * grid.y * grid.z;
  return run_grid(&work);
}
error cudaLaunchKernel_ptsz(const void* function, struct dim3 grid, struct dim3 block, void** arguments, size_t shared,
                            void* stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}
// One entry of a launch's attributes: what it is, and a value of 64 bytes.
struct launch_attribute {
  int id;
  char padding[4];
  union {
    int number;
    struct dim3 cluster;
    char bytes[64];
  } value;
};
struct launch {
  struct dim3 grid, block;
  size_t shared;
  void* stream;
  const struct launch_attribute* attributes;
  unsigned count;
};
error cudaLaunchKernelExC(const struct launch* launch, const void* function, void** arguments) {
  // Others, such as priorities and the order of a stream's kernels, change no result.
  enum { cooperative = 2, cluster_dimension = 4 };
  if (!launch)
    return result(invalid_value);
  for (unsigned i = 0; i < launch->count; ++i) {
    const struct launch_attribute* attribute = &launch->attributes[i];
    const struct dim3* cluster = &attribute->value.cluster;
    if ((attribute->id == cooperative && attribute->value.number) ||
        (attribute->id == cluster_dimension && (cluster->x > 1 || cluster->y > 1 || cluster->z > 1)))
      return result(not_supported);
  }
  return cudaLaunchKernel(function, launch->grid, launch->block, arguments, launch->shared, launch->stream);
}
error cudaLaunchKernelExC_ptsz(const struct launch* launch, const void* function, void** arguments) {
  return cudaLaunchKernelExC(launch, function, arguments);
}
// Stubs that nvcc 13 generates; their kernels are not IR, so a launch names them and fails.
error __cudaGetKernel(const void** kernel, const void* function) {
  *kernel = function;
  return success;
}
error __cudaLaunchKernel(const void* kernel, struct dim3 grid, struct dim3 block, void** arguments, size_t shared,
                         void* stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
error cudaFuncSetCacheConfig(const void* function, int config) { return (void)config, result(function_of(function) ? success : invalid_device_function); }
error cudaFuncSetSharedMemConfig(const void* function, int config) { return cudaFuncSetCacheConfig(function, config); }
error cudaFuncSetAttribute(const void* function, int attribute, int value) {
  (void)attribute, (void)value;
  return result(function_of(function) ? success : invalid_device_function);
}
// Of the structure's members, those that all releases have: bytes of shared, constant and local memory, threads
// of a block, registers, versions, cache mode, dynamic shared memory, its share of the cache.
struct function_attributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int most_threads, registers, ptx_version, binary_version, cache_mode, most_dynamic, carveout;
};
error cudaFuncGetAttributes(struct function_attributes* attributes, const void* function) {
  const struct known_function* known = function_of(function);
  if (!known || !known->kernel)
    return result(invalid_device_function);
  *attributes = (struct function_attributes){known->kernel->shared_bytes, 0, 0, most_threads, 32, xaas_architecture / 10, xaas_architecture / 10, 0,
                                            most_shared - (int)known->kernel->shared_bytes, -1};
  return success;
}
error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
  // One: as many blocks run at once as there are multiprocessors, and some programs let them wait for each other.
  if (!function_of(function))
    return result(invalid_device_function);
  if (threads <= 0)
    return result(invalid_value);
  *blocks = threads <= most_threads && shared <= most_shared;
  return success;
}
error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                             size_t shared, unsigned flags) {
  (void)flags;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
