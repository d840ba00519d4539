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

static _Thread_local error last_error;
static error result(error code) {
  if (code != success && code != not_ready)
    last_error = code;
  return code;
}

static const struct {
  error code;
  const char *name, *text;
} errors[] = {
    {success, "cudaSuccess", "no error"},
    {invalid_value, "cudaErrorInvalidValue", "invalid argument"},
    {memory_allocation, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {invalid_configuration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {invalid_symbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {invalid_device_function, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {no_device, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {invalid_resource_handle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {not_ready, "cudaErrorNotReady", "device not ready"},
    {assertion, "cudaErrorAssert", "device-side assert triggered"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {999, "cudaErrorUnknown", "unknown error"},
    {not_supported, "cudaErrorNotSupported", "operation not supported"},
};
const char* cudaGetErrorString(error code) {
  for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); ++i)
    if (errors[i].code == code)
      return errors[i].text;
  return "unrecognized error code";
}
const char* cudaGetErrorName(error code) {
  for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); ++i)
    if (errors[i].code == code)
      return errors[i].name;
  return "unrecognized error code";
}
error cudaGetLastError(void) {
  const error code = last_error;
  last_error = success;
  return code;
}
error cudaPeekAtLastError(void) { return last_error; }

// Called by the functions that a deploy adds; `said` is one for each.
int xaas_not_supported(const char* function, int* said) {
  if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED))
    fprintf(stderr, "xaas: %s() is not supported for kernels on the CPU\n", function);
  return result(not_supported);
}

// ---- The pool of threads

struct work {
  const struct xaas_kernel* kernel;
  void** arguments;
  struct xaas_block block; // of every block, without its index and memory
  uint64_t blocks, step, first;
  uint64_t share; // blocks that a thread takes at a time. It runs them in their order, as they are taken.
  uint64_t next;  // the next that is taken
  size_t stack_bytes; // of each thread, for fibers
};

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t started, ended;
  struct work* work;
  uint64_t round;
  unsigned threads, busy;
  pid_t process; // that the threads belong to
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .started = PTHREAD_COND_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;

static const char* setting(const char* name) { // NULL if it is not set, or empty
  const char* value = getenv(name);
  return value && *value ? value : NULL;
}
static void refuse_setting(const char* name, const char* value, const char* wanted) {
  fprintf(stderr, "xaas: %s=%s: must be %s\n", name, value, wanted);
  exit(2);
}

// Of the last cache, in bytes; 0 if the system does not say.
static int cache_size(void) {
  for (const int* each = (const int[]){_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, 0}; *each; ++each) {
    const long size = sysconf(*each);
    if (size > 0)
      return size < INT32_MAX ? (int)size : INT32_MAX;
  }
  // Linux describes the first CPU's caches in ascending levels: 48K, 32768K.
  long last = 0;
  for (int index = 0; index < 8; ++index) {
    char name[64];
    snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    FILE* file = fopen(name, "re");
    if (!file)
      break;
    long size;
    char unit = 0;
    if (fscanf(file, "%ld%c", &size, &unit) == 2 && size > 0 && size < INT32_MAX)
      last = unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : last;
    fclose(file);
  }
  return last < INT32_MAX ? (int)last : INT32_MAX;
}

// The CPUs that this process may use, also where a cgroup limits their time.
static unsigned usable_cpus(void) {
  cpu_set_t set;
  unsigned count = sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
  long quota, period;
  FILE* limit = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (limit && fscanf(limit, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0) {
    const unsigned whole = (unsigned)((quota + period - 1) / period);
    count = whole < count ? whole : count;
  }
  if (limit)
    fclose(limit);
  const char* asked = setting("XAAS_KERNEL_THREADS");
  if (asked) {
    char* end;
    const long number = strtol(asked, &end, 10);
    if (*end || number < 1 || number > 4096)
      refuse_setting("XAAS_KERNEL_THREADS", asked, "a number from 1 to 4096");
    count = (unsigned)number;
  }
  return count ? count : 1;
}

static void* grown(void* old, size_t* size, size_t wanted) {
  if (wanted <= *size)
    return old;
  munmap(old, *size);
  wanted = (wanted + 65535) & ~(size_t)65535;
  void* memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fprintf(stderr, "xaas: no memory for the %zu bytes of a block\n", wanted);
    abort();
  }
  *size = wanted;
  return memory;
}

// Bytes of a thread's stack in the form `fibers`: what XAAS_KERNEL_STACK sets in KiB; else what most programs need, and
// twice what this one adds to CUDA's own: a CPU's frames are larger.
enum { usual_stack = 64 * 1024, usual_limit = 1024, most_limit = 512 * 1024 };
static size_t stack_limit = usual_limit; // cudaLimitStackSize
static size_t stack_bytes(void) {
  const char* asked = setting("XAAS_KERNEL_STACK");
  if (!asked)
    return usual_stack + (stack_limit > usual_limit ? 2 * (stack_limit - usual_limit) : 0);
  char* end;
  const long kib = strtol(asked, &end, 10);
  if (*end || kib < 16 || kib > 65536)
    refuse_setting("XAAS_KERNEL_STACK", asked, "a number of KiB from 16 to 65536");
  return (size_t)kib * 1024;
}

static void run_blocks(struct work* work) {
  static _Thread_local char *shared, *arena;
  static _Thread_local size_t shared_size, arena_size;
  const struct xaas_kernel* kernel = work->kernel;
  struct xaas_block block = work->block;
  shared = grown(shared, &shared_size, (size_t)kernel->shared_bytes + block.dynamic_size + 1);
  arena = grown(arena, &arena_size,
                (size_t)kernel->thread_bytes * block.threads + 64 * ((size_t)kernel->arrays + 2));
  block.shared = shared;
  block.arena = arena;
  if (xaas_checked && kernel->checks)
    block.checked = xaas_checks_of_thread(kernel, __builtin_frame_address(0));
  const uint64_t row = block.grid[0], plane = row * block.grid[1];
  for (;;) {
    const uint64_t start = __atomic_fetch_add(&work->next, work->share, __ATOMIC_RELAXED);
    if (start >= work->blocks)
      return;
    const uint64_t end = work->blocks - start < work->share ? work->blocks : start + work->share;
    for (uint64_t each = start; each < end; ++each) {
      const uint64_t number = (uint64_t)(((unsigned __int128)each * work->step + work->first) % work->blocks);
      block.index[0] = (uint32_t)(number % row);
      block.index[1] = (uint32_t)(number % plane / row);
      block.index[2] = (uint32_t)(number / plane);
      if (xaas_checked && kernel->checks)
        xaas_checks_start(block.checked, &block);
      kernel->run(work->arguments, &block);
    }
  }
}

// A worker without memory for stacks leaves its blocks to the others.
static int take_fibers(const struct work* work) {
  return !work->kernel->fibers || xaas_take_fibers(work->block.threads, work->stack_bytes);
}
static void give_fibers(const struct work* work) {
  if (work->kernel->fibers)
    xaas_give_fibers();
}

static void* run_worker(void* unused) {
  (void)unused;
  uint64_t seen = 0;
  pthread_mutex_lock(&pool.mutex);
  for (;;) {
    while (pool.round == seen || !pool.work)
      pthread_cond_wait(&pool.started, &pool.mutex);
    seen = pool.round;
    struct work* work = pool.work;
    ++pool.busy;
    pthread_mutex_unlock(&pool.mutex);
    if (take_fibers(work)) {
      run_blocks(work);
      give_fibers(work);
    }
    pthread_mutex_lock(&pool.mutex);
    if (--pool.busy == 0)
      pthread_cond_broadcast(&pool.ended);
  }
  return NULL;
}

static void start_pool(void) {
  if (pool.process == getpid())
    return;
  pool.process = getpid(); // threads do not survive a fork, nor may what they wait for be used after it
  pool.busy = 0;
  pthread_mutex_init(&pool.mutex, NULL);
  pthread_cond_init(&pool.started, NULL);
  pthread_cond_init(&pool.ended, NULL);
  pool.threads = usable_cpus();
  for (unsigned i = 1; i < pool.threads; ++i) {
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, run_worker, NULL) != 0)
      pool.threads = i;
    pthread_attr_destroy(&detached);
  }
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
  while (b) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// XAAS_BLOCK_ORDER=sequential|reverse|random:SEED finds kernels whose blocks depend on each other.
static int order_blocks(struct work* work) { // returns whether one thread runs all
  const char* order = setting("XAAS_BLOCK_ORDER");
  work->step = 1;
  work->first = 0;
  if (!order)
    return 0;
  if (!strcmp(order, "reverse")) {
    work->step = work->blocks - 1;
    work->first = work->blocks - 1;
  } else if (!strncmp(order, "random:", 7)) {
    char* end;
    const uint64_t number = strtoull(order + 7, &end, 10);
    if (end == order + 7 || *end)
      refuse_setting("XAAS_BLOCK_ORDER", order, "sequential, reverse or random:SEED");
    const uint64_t seed = number * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
    work->first = (seed >> 17) % work->blocks;
    work->step = (seed >> 7) % work->blocks | 1;
    while (greatest_divisor(work->step, work->blocks) != 1)
      ++work->step;
  } else if (strcmp(order, "sequential")) {
    refuse_setting("XAAS_BLOCK_ORDER", order, "sequential, reverse or random:SEED");
  }
  return 1;
}

// XAAS_KERNEL_TIMES=FILE writes, at exit, a line for each kernel that ran: seconds, launches and name, separated by
// tabs.
static struct measured {
  const struct xaas_kernel* kernel;
  uint64_t nanoseconds, launches;
  struct measured* next;
} * measured_kernels;
uint64_t xaas_nanoseconds(void);

static void write_times(void) {
  const char* file = setting("XAAS_KERNEL_TIMES");
  FILE* out = fopen(file, "we");
  if (!out) {
    fprintf(stderr, "xaas: XAAS_KERNEL_TIMES=%s: %s\n", file, strerror(errno));
    return;
  }
  for (const struct measured* each = measured_kernels; each; each = each->next)
    fprintf(out, "%.9f\t%llu\t%s\n", (double)each->nanoseconds * 1e-9, (unsigned long long)each->launches,
            each->kernel->name);
  fclose(out);
}

static void add_time(const struct xaas_kernel* kernel, uint64_t nanoseconds) {
  struct measured* each = measured_kernels;
  while (each && each->kernel != kernel)
    each = each->next;
  if (!each) {
    each = malloc(sizeof(*each));
    if (!each)
      abort();
    if (!measured_kernels)
      atexit(write_times);
    *each = (struct measured){kernel, 0, 0, measured_kernels};
    measured_kernels = each;
  }
  each->nanoseconds += nanoseconds;
  ++each->launches;
}

static error run_grid(struct work* work) {
  const int measures = setting("XAAS_KERNEL_TIMES") != NULL;
  pthread_mutex_lock(&launching); // one grid at a time
  work->stack_bytes = work->kernel->fibers ? stack_bytes() : 0;
  if (!take_fibers(work)) {
    pthread_mutex_unlock(&launching);
    fprintf(stderr, "xaas: kernel %s: no memory for %u stacks of %zu KiB\n", work->kernel->name, work->block.threads,
            work->stack_bytes / 1024);
    return result(memory_allocation);
  }
  const uint64_t start = measures ? xaas_nanoseconds() : 0;
  start_pool();
  work->share = work->blocks / (16 * (uint64_t)pool.threads);
  work->share = work->share < 1 ? 1 : work->share > 1024 ? 1024 : work->share;
  const int alone = order_blocks(work) || pool.threads == 1 || work->blocks == 1;
  if (!alone) {
    pthread_mutex_lock(&pool.mutex);
    pool.work = work;
    ++pool.round;
    pthread_cond_broadcast(&pool.started);
    pthread_mutex_unlock(&pool.mutex);
  }
  run_blocks(work);
  if (!alone) {
    pthread_mutex_lock(&pool.mutex);
    pool.work = NULL;
    while (pool.busy > 0)
      pthread_cond_wait(&pool.ended, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
  }
  if (measures)
    add_time(work->kernel, xaas_nanoseconds() - start);
  give_fibers(work);
  pthread_mutex_unlock(&launching);
  return success;
}

// ---- Registration

static struct xaas_module* modules;
struct __attribute__((visibility("default"))) handle {
  struct xaas_module* module;
};
struct known_function {
  const void* host;
  const struct xaas_kernel* kernel;
  const char* name;
  struct known_function* next;
};
struct known_variable {
  const void* host;
  void* address;
  size_t size;
  struct known_variable* next;
};
enum { buckets = 1024 };
static struct known_function* functions[buckets];
static struct known_variable* variables[buckets];
static size_t bucket_of(const void* address) { return (size_t)address / 16 % buckets; }

void xaas_register_module(struct xaas_module* module) {
  module->next = modules;
  modules = module;
  for (uint32_t i = 0; xaas_checked && i < module->memory_count; ++i)
    xaas_checks_add(module->memory[i].address, module->memory[i].size, "a variable");
}

static struct xaas_module* module_of(const char* image) {
  static const char mark[] = "xaas-cpu:";
  if (image && !memcmp(image, mark, sizeof(mark) - 1))
    for (struct xaas_module* each = modules; each; each = each->next)
      if (!strcmp(each->image, image))
        return each;
  return NULL; // code that only a GPU runs
}

void** __cudaRegisterFatBinary(const void* wrapper) {
  struct handle* handle = malloc(sizeof(*handle));
  if (!handle)
    abort();
  const char* image;
  memcpy(&image, (const char*)wrapper + 8, sizeof(image)); // after magic number and version
  handle->module = module_of(image);
  return (void**)handle;
}
void __cudaRegisterFatBinaryEnd(void** handle) { (void)handle; }
void __cudaUnregisterFatBinary(void** handle) { free(handle); }
char __cudaInitModule(void** handle) { return (void)handle, 1; }

void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int limit, void* tid,
                            void* bid, void* block, void* grid, int* warp) {
  (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  const struct xaas_module* module = ((struct handle*)handle)->module;
  struct known_function* known = malloc(sizeof(*known));
  if (!known)
    abort();
  *known = (struct known_function){host, NULL, name, functions[bucket_of(host)]};
  for (uint32_t i = 0; module && i < module->kernel_count; ++i)
    if (!strcmp(module->kernels[i].name, name))
      known->kernel = &module->kernels[i];
  functions[bucket_of(host)] = known;
}

static void register_variable(void** handle, const void* host, const char* name, void** holder) {
  const struct xaas_module* module = ((struct handle*)handle)->module;
  for (uint32_t i = 0; module && i < module->variable_count; ++i) {
    const struct xaas_variable* variable = &module->variables[i];
    if (strcmp(variable->name, name))
      continue;
    struct known_variable* known = malloc(sizeof(*known));
    if (!known)
      abort();
    *known = (struct known_variable){host, variable->address, variable->size, variables[bucket_of(host)]};
    variables[bucket_of(host)] = known;
    if (holder)
      *holder = variable->address;
    return;
  }
}
void __cudaRegisterVar(void** handle, char* host, char* address, const char* name, int external, size_t size,
                       int constant, int global) {
  (void)address, (void)external, (void)size, (void)constant, (void)global;
  register_variable(handle, host, name, NULL);
}
void __cudaRegisterManagedVar(void** handle, void** host, char* address, const char* name, int external, size_t size,
                              int constant, int global) {
  (void)address, (void)external, (void)size, (void)constant, (void)global;
  register_variable(handle, host, name, host);
}

static const struct known_function* function_of(const void* host) {
  for (const struct known_function* each = functions[bucket_of(host)]; each; each = each->next)
    if (each->host == host)
      return each;
  return NULL;
}
static const struct known_variable* variable_of(const void* host) {
  for (const struct known_variable* each = variables[bucket_of(host)]; each; each = each->next)
    if (each->host == host)
      return each;
  return NULL;
}

// ---- Launches

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

// Kernels compute blockIdx.x * blockDim.x + threadIdx.x without overflow (src/cpukernel/cpukernel.cpp).
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

// ---- Memory

struct allocation {
  char* address;
  size_t size, mapped; // mapped: 0 for malloc()
  int type;            // cudaMemoryType: 1 host, 2 device, 3 managed
  struct allocation* next;
};
static pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct allocation* allocations;
static const size_t huge_page = 2 << 20;
// Where kernels have checks: bytes between allocations, and of freed memory that is not used again.
static const size_t checked_gap = 1024, most_kept = 256 << 20;

// Large arrays lie in huge pages where the system has them: a GPU's pages are large, too, and kernels access
// memory accordingly.
static error allocate(void** address, size_t size, int type) {
  if (!address)
    return result(invalid_value);
  *address = NULL;
  if (size == 0)
    return success;
  if (size > (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE)) // the system would promise it
    return result(memory_allocation);
  const size_t asked = size;
  if (xaas_checked)
    size += checked_gap;
  struct allocation* made = malloc(sizeof(*made));
  if (!made)
    return result(memory_allocation);
  *made = (struct allocation){NULL, asked, 0, type, NULL};
  if (size >= 2 * huge_page) {
    const size_t mapped = size + huge_page;
    char* memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) {
      char* aligned = (char*)(((uintptr_t)memory + huge_page - 1) & ~(huge_page - 1));
      if (aligned != memory)
        munmap(memory, (size_t)(aligned - memory));
      made->mapped = mapped - (size_t)(aligned - memory);
      made->address = aligned;
      madvise(aligned, made->mapped, MADV_HUGEPAGE);
    }
  } else {
    made->address = aligned_alloc(256, (size + 255) & ~(size_t)255);
  }
  if (!made->address) {
    free(made);
    return result(memory_allocation);
  }
  pthread_mutex_lock(&memory_mutex);
  made->next = allocations;
  allocations = made;
  pthread_mutex_unlock(&memory_mutex);
  if (xaas_checked)
    xaas_checks_add(made->address, asked, type == 1 ? "page-locked host memory" : type == 2 ? "an allocation of cudaMalloc()" : "managed memory");
  *address = made->address;
  return success;
}

static void give_back(struct allocation* allocation) {
  if (allocation->mapped)
    munmap(allocation->address, allocation->mapped);
  else
    free(allocation->address);
  free(allocation);
}

// Where kernels have checks, freed memory is not used again for a while, so that an access of it is found.
static void keep_freed(struct allocation* allocation) {
  static struct allocation *first, **last = &first;
  static size_t kept;
  xaas_checks_free(allocation->address);
  pthread_mutex_lock(&memory_mutex);
  allocation->next = NULL;
  *last = allocation;
  last = &allocation->next;
  kept += allocation->size;
  while (kept > most_kept) {
    struct allocation* oldest = first;
    first = oldest->next;
    if (!first)
      last = &first;
    kept -= oldest->size;
    xaas_checks_forget(oldest->address);
    give_back(oldest);
  }
  pthread_mutex_unlock(&memory_mutex);
}

static error release(void* address) {
  if (!address)
    return success;
  pthread_mutex_lock(&memory_mutex);
  struct allocation** place = &allocations;
  while (*place && (*place)->address != address)
    place = &(*place)->next;
  struct allocation* found = *place;
  if (found)
    *place = found->next;
  pthread_mutex_unlock(&memory_mutex);
  if (!found)
    return result(invalid_value);
  if (xaas_checked)
    keep_freed(found);
  else
    give_back(found);
  return success;
}

static int type_of(const void* address) { // 0: the program's own memory
  int type = 0;
  pthread_mutex_lock(&memory_mutex);
  for (const struct allocation* each = allocations; each && !type; each = each->next)
    if ((const char*)address >= each->address && (const char*)address < each->address + each->size)
      type = each->type;
  pthread_mutex_unlock(&memory_mutex);
  return type;
}

error cudaMalloc(void** address, size_t size) { return allocate(address, size, 2); }
error cudaMallocAsync(void** address, size_t size, void* stream) { return (void)stream, allocate(address, size, 2); }
error cudaMallocManaged(void** address, size_t size, unsigned flags) { return (void)flags, allocate(address, size, 3); }
error cudaMallocHost(void** address, size_t size) { return allocate(address, size, 1); }
error cudaHostAlloc(void** address, size_t size, unsigned flags) { return (void)flags, allocate(address, size, 1); }
error cudaFree(void* address) { return release(address); }
error cudaFreeAsync(void* address, void* stream) { return (void)stream, release(address); }
error cudaFreeHost(void* address) { return release(address); }
error cudaHostRegister(void* address, size_t size, unsigned flags) {
  (void)flags;
  if (xaas_checked)
    xaas_checks_add(address, size, "registered host memory");
  return success;
}
error cudaHostUnregister(void* address) {
  if (xaas_checked)
    xaas_checks_forget(address);
  return success;
}
error cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  (void)flags;
  *device = host;
  return success;
}
error cudaMallocPitch(void** address, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 255) & ~(size_t)255;
  return allocate(address, *pitch * height, 2);
}
struct pitched {
  void* address;
  size_t pitch, width, height;
};
struct extent {
  size_t width, height, depth;
};
error cudaMalloc3D(struct pitched* memory, struct extent extent) {
  memory->width = extent.width;
  memory->height = extent.height;
  return cudaMallocPitch(&memory->address, &memory->pitch, extent.width, extent.height * extent.depth);
}
error cudaMemGetInfo(size_t* left, size_t* total) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  *total = (size_t)sysconf(_SC_PHYS_PAGES) * page;
  *left = (size_t)sysconf(_SC_AVPHYS_PAGES) * page;
  return success;
}
struct pointer_attributes {
  int type, device;
  void *device_address, *host_address;
};
error cudaPointerGetAttributes(struct pointer_attributes* attributes, const void* address) {
  void* const same = (void*)(uintptr_t)address;
  *attributes = (struct pointer_attributes){type_of(address), 0, same, same};
  return success;
}
error cudaMemPrefetchAsync(const void* address, size_t size, int device, void* stream) {
  return (void)address, (void)size, (void)device, (void)stream, success;
}
error cudaMemAdvise(const void* address, size_t size, int advice, int device) {
  return (void)address, (void)size, (void)advice, (void)device, success;
}

static error copy(void* to, const void* from, size_t size) {
  if (size && (!to || !from))
    return result(invalid_value);
  memmove(to, from, size);
  return success;
}
error cudaMemcpy(void* to, const void* from, size_t size, int kind) { return (void)kind, copy(to, from, size); }
error cudaMemcpyAsync(void* to, const void* from, size_t size, int kind, void* stream) {
  return (void)kind, (void)stream, copy(to, from, size);
}
error cudaMemcpyPeer(void* to, int device, const void* from, int other, size_t size) {
  return (void)device, (void)other, copy(to, from, size);
}
error cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int kind) {
  (void)kind;
  if (width > to_pitch || width > from_pitch)
    return result(12);
  for (size_t row = 0; row < height; ++row)
    if (copy((char*)to + row * to_pitch, (const char*)from + row * from_pitch, width) != success)
      return last_error;
  return success;
}
error cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                        int kind, void* stream) {
  return (void)stream, cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
error cudaMemset(void* address, int value, size_t size) {
  if (size && !address)
    return result(invalid_value);
  memset(address, value, size);
  return success;
}
error cudaMemsetAsync(void* address, int value, size_t size, void* stream) {
  return (void)stream, cudaMemset(address, value, size);
}
error cudaMemset2D(void* address, size_t pitch, int value, size_t width, size_t height) {
  if (width > pitch)
    return result(invalid_value);
  for (size_t row = 0; row < height; ++row)
    memset((char*)address + row * pitch, value, width);
  return success;
}

static error part_of(const void* symbol, size_t size, size_t offset, char** address) {
  const struct known_variable* known = variable_of(symbol);
  if (!known)
    return result(invalid_symbol);
  if (offset > known->size || size > known->size - offset)
    return result(invalid_value);
  *address = (char*)known->address + offset;
  return success;
}
error cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset, int kind) {
  (void)kind;
  char* address;
  const error code = part_of(symbol, size, offset, &address);
  return code == success ? copy(address, from, size) : code;
}
error cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset, int kind) {
  (void)kind;
  char* address;
  const error code = part_of(symbol, size, offset, &address);
  return code == success ? copy(to, address, size) : code;
}
error cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t size, size_t offset, int kind, void* stream) {
  return (void)stream, cudaMemcpyToSymbol(symbol, from, size, offset, kind);
}
error cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size, size_t offset, int kind, void* stream) {
  return (void)stream, cudaMemcpyFromSymbol(to, symbol, size, offset, kind);
}
error cudaGetSymbolAddress(void** address, const void* symbol) { return part_of(symbol, 0, 0, (char**)address); }
error cudaGetSymbolSize(size_t* size, const void* symbol) {
  const struct known_variable* known = variable_of(symbol);
  if (!known)
    return result(invalid_symbol);
  *size = known->size;
  return success;
}

// ---- Streams and events

struct event {
  struct timespec time;
  int recorded, without_time;
};
static error new_handle(void** handle, size_t size) {
  *handle = calloc(1, size);
  return *handle ? success : result(memory_allocation);
}
error cudaStreamCreate(void** stream) { return new_handle(stream, 16); }
error cudaStreamCreateWithFlags(void** stream, unsigned flags) { return (void)flags, new_handle(stream, 16); }
error cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return (void)flags, (void)priority, new_handle(stream, 16);
}
error cudaStreamDestroy(void* stream) { return free(stream), success; }
error cudaStreamSynchronize(void* stream) { return (void)stream, success; }
error cudaStreamQuery(void* stream) { return (void)stream, success; }
error cudaStreamWaitEvent(void* stream, void* event, unsigned flags) { return (void)stream, (void)event, (void)flags, success; }
error cudaStreamGetPriority(void* stream, int* priority) {
  (void)stream;
  *priority = 0;
  return success;
}
error cudaStreamGetFlags(void* stream, unsigned* flags) {
  (void)stream;
  *flags = 0;
  return success;
}
error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return success;
}
error cudaStreamAddCallback(void* stream, void (*call)(void*, error, void*), void* data, unsigned flags) {
  (void)flags;
  call(stream, success, data);
  return success;
}
error cudaLaunchHostFunc(void* stream, void (*call)(void*), void* data) {
  (void)stream;
  call(data);
  return success;
}
error cudaEventCreate(void** event) { return new_handle(event, sizeof(struct event)); }
error cudaEventCreateWithFlags(void** event, unsigned flags) {
  const error code = cudaEventCreate(event);
  if (code == success)
    ((struct event*)*event)->without_time = (flags & 2) != 0; // cudaEventDisableTiming
  return code;
}
error cudaEventDestroy(void* event) { return free(event), success; }
error cudaEventRecord(struct event* event, void* stream) {
  (void)stream;
  if (!event)
    return result(invalid_resource_handle);
  clock_gettime(CLOCK_MONOTONIC, &event->time);
  event->recorded = 1;
  return success;
}
error cudaEventRecordWithFlags(struct event* event, void* stream, unsigned flags) {
  return (void)flags, cudaEventRecord(event, stream);
}
error cudaEventSynchronize(void* event) { return event ? success : result(invalid_resource_handle); }
error cudaEventQuery(void* event) { return event ? success : result(invalid_resource_handle); }
error cudaEventElapsedTime(float* milliseconds, const struct event* start, const struct event* end) {
  if (!start || !end || !start->recorded || !end->recorded || start->without_time || end->without_time)
    return result(invalid_resource_handle);
  *milliseconds = (float)((double)(end->time.tv_sec - start->time.tv_sec) * 1e3 +
                          (double)(end->time.tv_nsec - start->time.tv_nsec) * 1e-6);
  return success;
}
error cudaEventElapsedTime_v2(float* milliseconds, const struct event* start, const struct event* end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}

// ---- The device

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
};
_Static_assert(offsetof(struct properties_13, surface_alignment) == 552, "as in CUDA 13");
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
  p->bus_width = 64;
  p->most_threads_of_multiprocessor = 2048;
}
static error properties_of_12(char* place, int device, size_t size) {
  if (device != 0)
    return result(invalid_device);
  struct properties_12 p = {0};
  describe(&p);
  memset(place, 0, size);
  memcpy(place, &p, sizeof(p));
  return success;
}
enum { size_of_11 = 720 /* of 11.0 */, size_of_12 = 1032, size_of_13 = 1008 };
_Static_assert(sizeof(struct properties_12) <= size_of_11, "12 has more members");
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

// ---- Functions of device code

uint64_t xaas_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
void* xaas_malloc(size_t size) {
  if (!xaas_checked)
    return malloc(size);
  void* memory = NULL;
  return allocate(&memory, size, 2) == success ? memory : NULL;
}
void xaas_free(void* memory) {
  if (xaas_checked)
    release(memory);
  else
    free(memory);
}
void xaas_assertfail(const char* condition, const char* file, unsigned line, const char* function, size_t size) {
  (void)size;
  fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
  abort();
}

// printf() in device code: arguments lie one after the other, each at a multiple of its size.
int xaas_vprintf(const char* format, const char* arguments) {
  char text[2048];
  size_t length = 0, at = 0;
  int count = 0;
  for (const char* c = format; *c && length + 1 < sizeof(text); ++c) {
    if (*c != '%' || *++c == '%') {
      text[length++] = *c;
      continue;
    }
    char item[64] = "%";
    size_t used = 1;
    int wide = 0;
    while (*c && strchr("-+ #0123456789.*hlLjzt", *c) && used < 40) {
      if (*c == '*') {
        int width;
        at = (at + 3) & ~(size_t)3;
        memcpy(&width, arguments + at, sizeof(width));
        at += sizeof(width);
        used += (size_t)snprintf(item + used, sizeof(item) - used, "%d", width);
      } else {
        wide |= *c == 'l' || *c == 'j' || *c == 'z' || *c == 't';
        if (*c != 'L') // device code's long double is a double
          item[used++] = *c;
      }
      ++c;
    }
    item[used++] = *c;
    item[used] = 0;
    if (!*c)
      break;
    ++count;
    char* const out = text + length;
    const size_t room = sizeof(text) - length;
    int written = 0;
    if (strchr("eEfFgGaA", *c) || *c == 's' || *c == 'p' || wide) {
      uint64_t bits;
      at = (at + 7) & ~(size_t)7;
      memcpy(&bits, arguments + at, sizeof(bits));
      at += sizeof(bits);
      double number;
      memcpy(&number, &bits, sizeof(number));
      if (*c == 's')
        written = snprintf(out, room, item, (const char*)(uintptr_t)bits);
      else if (*c == 'p')
        written = snprintf(out, room, item, (void*)(uintptr_t)bits);
      else if (strchr("eEfFgGaA", *c))
        written = snprintf(out, room, item, number);
      else
        written = snprintf(out, room, item, (long long)bits);
    } else {
      int value;
      at = (at + 3) & ~(size_t)3;
      memcpy(&value, arguments + at, sizeof(value));
      at += sizeof(value);
      written = snprintf(out, room, item, value);
    }
    length += written > 0 ? (size_t)written < room ? (size_t)written : room - 1 : 0;
  }
  text[length] = 0;
  fputs(text, stdout); // whole, also if several threads print
  return count;
}
