// The pool of threads, which runs the blocks of a grid.

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

static void set_index(struct xaas_block* block, uint64_t number) {
  const uint64_t row = block->grid[0], plane = row * block->grid[1];
  block->index[0] = (uint32_t)(number % row);
  block->index[1] = (uint32_t)(number % plane / row);
  block->index[2] = (uint32_t)(number / plane);
}

// Without divisions, which would be made for each block.
static void set_next_index(struct xaas_block* block) {
  if (++block->index[0] < block->grid[0])
    return;
  block->index[0] = 0;
  if (++block->index[1] < block->grid[1])
    return;
  block->index[1] = 0;
  ++block->index[2];
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
  const int in_order = work->step == 1 && work->first == 0;
  for (;;) {
    const uint64_t start = __atomic_fetch_add(&work->next, work->share, __ATOMIC_RELAXED);
    if (start >= work->blocks)
      return;
    const uint64_t end = work->blocks - start < work->share ? work->blocks : start + work->share;
    for (uint64_t each = start; each < end; ++each) {
      if (in_order && each > start)
        set_next_index(&block);
      else
        set_index(&block, (uint64_t)(((unsigned __int128)each * work->step + work->first) % work->blocks));
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
