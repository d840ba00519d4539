// The device: its number, limits, attributes and properties.

error cudaGetDeviceCount(int* count) {
  *count = 1;
  return success;
}
error cudaSetDevice(int device) { return result(device == 0 ? success : invalid_device); }
error cudaInitDevice(int device, unsigned flags, unsigned more) { return (void)flags, (void)more, cudaSetDevice(device); }
error cudaGetDevice(int* device) {
  *device = 0;
  return success;
}
error cudaSetDeviceFlags(unsigned flags) { return (void)flags, success; }
error cudaSetValidDevices(int* devices, int count) { return (void)devices, (void)count, success; }
error cudaDeviceSynchronize(void) { return success; }
error cudaThreadSynchronize(void) { return success; }
error cudaDeviceReset(void) { return success; }
error cudaThreadExit(void) { return success; }
error cudaDeviceSetCacheConfig(int config) { return (void)config, success; }
error cudaDeviceSetSharedMemConfig(int config) { return (void)config, success; }
enum { limit_of_stack = 0 }; // cudaLimitStackSize
error cudaDeviceSetLimit(int limit, size_t value) {
  if (limit != limit_of_stack)
    return success;
  if (value > most_limit)
    return result(invalid_value);
  stack_limit = value;
  return success;
}
error cudaDeviceGetLimit(size_t* value, int limit) {
  *value = limit == limit_of_stack ? stack_limit : 8 << 20;
  return success;
}
error cudaDeviceCanAccessPeer(int* can, int device, int other) {
  (void)device, (void)other;
  *can = 0;
  return success;
}
error cudaDeviceEnablePeerAccess(int device, unsigned flags) { return (void)device, (void)flags, result(invalid_device); }
error cudaProfilerStart(void) { return success; }
error cudaProfilerStop(void) { return success; }
error cudaRuntimeGetVersion(int* version) {
  *version = xaas_cuda_release;
  return success;
}
error cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

// cudaDeviceAttr, CUDA Runtime API, "Data types used by CUDA Runtime".
error cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (device != 0)
    return result(invalid_device);
  switch (attribute) {
  case 1: // threads of a block, also in x and y
  case 2:
  case 3:
    *value = most_threads;
    break;
  case 4:
    *value = most_threads_z;
    break;
  case 5:
    *value = INT32_MAX;
    break;
  case 6:
  case 7:
    *value = most_blocks_yz;
    break;
  case 8: // shared memory of a block; 81: of a multiprocessor; 97: of a block that asks for it
    *value = usual_shared;
    break;
  case 81:
  case 97:
    *value = most_shared;
    break;
  case 31: // several kernels at a time; 95: launches of cooperating blocks
  case 95:
    *value = 0;
    break;
  case 38: // bytes of the last cache
    *value = cache_size();
    break;
  case 106: // blocks of a multiprocessor
    *value = 1;
    break;
  case 9:
    *value = 65536;
    break;
  case 10:
    *value = xaas_warp_size;
    break;
  case 12: // registers of a block and of a multiprocessor
  case 82:
    *value = 65536;
    break;
  case 13: // kHz
  case 36:
    *value = 1000000;
    break;
  case 16:
    *value = (int)usable_cpus();
    break;
  case 18: // integrated, mapped host memory, unified addresses, managed memory
  case 19:
  case 41:
  case 83:
  case 88: // access to pageable memory, concurrent managed access
  case 89:
  case 99: // cudaHostRegister(), memory pools
  case 115:
    *value = 1;
    break;
  case 39:
    *value = 2048;
    break;
  case 75:
    *value = xaas_architecture / 100;
    break;
  case 76:
    *value = xaas_architecture % 100 / 10;
    break;
  default:
    *value = 0;
  }
  return success;
}

// cudaDeviceProp (driver_types.h of the toolkits), as far as its members have a meaning here. CUDA 13 has no
// clocks and modes any more.
#define FIRST_PROPERTIES                                                                                     \
  char name[256], uuid[16], luid[8];                                                                         \
  unsigned luid_mask;                                                                                        \
  size_t memory, shared_of_block;                                                                            \
  int registers_of_block, warp_size;                                                                         \
  size_t pitch;                                                                                              \
  int threads_of_block, most_threads[3], most_blocks[3]
#define LAST_PROPERTIES                                                                                      \
  int most_threads_of_multiprocessor, stream_priorities, global_l1, local_l1;                                \
  size_t shared_of_multiprocessor;                                                                           \
  int registers_of_multiprocessor, managed_memory, many_boards, board_group, host_atomics
#define MORE_PROPERTIES_12                                                                                   \
  int double_ratio, pageable, concurrent_managed, preemption, host_pointers, cooperative, cooperative_devices; \
  size_t most_shared;                                                                                        \
  int host_tables, direct_managed, blocks_of_multiprocessor
#define LATER_PROPERTIES                                                                                     \
  int window;                                                                                                \
  size_t reserved_shared;                                                                                    \
  int registers_host_memory, sparse_arrays, registers_read_only, timelines, memory_pools
struct properties_12 {
  FIRST_PROPERTIES;
  int clock;
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch;
  int overlap, multiprocessors, timeout, integrated, maps_host_memory, compute_mode, textures[40];
  size_t surface_alignment;
  int concurrent_kernels, ecc, bus, device, domain, tcc, engines, unified_addressing, memory_clock, bus_width, l2,
      persisting_l2;
  LAST_PROPERTIES;
  MORE_PROPERTIES_12;
  LATER_PROPERTIES; // from 11.2
};
struct properties_13 {
  FIRST_PROPERTIES;
  size_t constant_memory;
  int major, minor;
  size_t texture_alignment, texture_pitch;
  int multiprocessors, integrated, maps_host_memory, textures[39];
  size_t surface_alignment;
  int concurrent_kernels, ecc, bus, device, domain, tcc, engines, unified_addressing, bus_width, l2, persisting_l2;
  LAST_PROPERTIES;
  int pageable, concurrent_managed, preemption, host_pointers, cooperative;
  size_t most_shared;
  int host_tables, direct_managed, blocks_of_multiprocessor;
  LATER_PROPERTIES;
};
_Static_assert(offsetof(struct properties_13, surface_alignment) == 552, "as in CUDA 13");
_Static_assert(offsetof(struct properties_13, memory_pools) == 720, "as in CUDA 13");
_Static_assert(offsetof(struct properties_13, most_threads_of_multiprocessor) == 604, "as in CUDA 13");

static void describe(struct properties_12* p) {
  size_t left;
  strcpy(p->name, "CPU");
  cudaMemGetInfo(&left, &p->memory);
  p->shared_of_block = usual_shared;
  p->shared_of_multiprocessor = p->most_shared = most_shared;
  p->blocks_of_multiprocessor = 1;
  p->l2 = cache_size();
  p->registers_of_block = p->registers_of_multiprocessor = 65536;
  p->warp_size = xaas_warp_size;
  p->pitch = INT32_MAX;
  p->threads_of_block = p->most_threads[0] = p->most_threads[1] = most_threads;
  p->most_threads[2] = most_threads_z;
  p->most_blocks[0] = INT32_MAX;
  p->most_blocks[1] = p->most_blocks[2] = most_blocks_yz;
  p->clock = p->memory_clock = 1000000; // kHz
  p->constant_memory = 65536;
  p->major = xaas_architecture / 100;
  p->minor = xaas_architecture % 100 / 10;
  p->texture_alignment = p->surface_alignment = 512;
  p->texture_pitch = 32;
  p->multiprocessors = (int)usable_cpus();
  p->integrated = p->maps_host_memory = p->unified_addressing = p->managed_memory = 1;
  p->registers_host_memory = p->memory_pools = 1;
  p->bus_width = 64;
  p->most_threads_of_multiprocessor = 2048;
}
static error properties_of_12(char* place, int device, size_t size) {
  if (device != 0)
    return result(invalid_device);
  struct properties_12 p = {0};
  describe(&p);
  memset(place, 0, size);
  memcpy(place, &p, size < sizeof(p) ? size : sizeof(p));
  return success;
}
enum { size_of_11 = 720 /* of 11.0 */, size_of_12 = 1032, size_of_13 = 1008 };
_Static_assert(offsetof(struct properties_12, reserved_shared) == size_of_11, "11.0 ends there");
_Static_assert(offsetof(struct properties_13, most_shared) == 672, "as in CUDA 13");
error cudaGetDeviceProperties_v2(char* place, int device) { return properties_of_12(place, device, size_of_12); }
error cudaGetDeviceProperties(char* place, int device) {
  if (xaas_cuda_release < 13000)
    return properties_of_12(place, device, size_of_11);
  if (device != 0)
    return result(invalid_device);
  struct properties_12 all = {0};
  describe(&all);
  struct properties_13 p = {0};
  memcpy(&p, &all, offsetof(struct properties_12, clock)); // both begin alike
  p.constant_memory = all.constant_memory;
  p.major = all.major, p.minor = all.minor;
  p.texture_alignment = all.texture_alignment, p.texture_pitch = all.texture_pitch;
  p.multiprocessors = all.multiprocessors;
  p.integrated = p.maps_host_memory = p.unified_addressing = p.managed_memory = 1;
  p.registers_host_memory = p.memory_pools = 1;
  p.surface_alignment = all.surface_alignment;
  p.bus_width = all.bus_width;
  p.most_threads_of_multiprocessor = all.most_threads_of_multiprocessor;
  p.shared_of_multiprocessor = all.shared_of_multiprocessor;
  p.registers_of_multiprocessor = all.registers_of_multiprocessor;
  p.most_shared = all.most_shared;
  p.blocks_of_multiprocessor = all.blocks_of_multiprocessor;
  p.l2 = all.l2;
  memset(place, 0, size_of_13);
  memcpy(place, &p, sizeof(p));
  return success;
}
error cudaChooseDevice(int* device, const void* wanted) {
  (void)wanted;
  *device = 0;
  return success;
}
