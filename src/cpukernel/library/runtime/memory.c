// Memory: allocations, copies, and variables of device code.

struct allocation {
  char* address;
  size_t size, mapped; // mapped: 0 for malloc()
  int type;            // cudaMemoryType: 1 host, 2 device, 3 managed
  struct memory_pool* pool;
  struct allocation* next;
};
static void count_use(struct memory_pool* pool, size_t size);
static void count_release(struct memory_pool* pool, size_t size);
static pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct allocation* allocations;
static const size_t huge_page = 2 << 20;
// Where kernels have checks: bytes between allocations, and of freed memory that is not used again.
static const size_t checked_gap = 1024, most_kept = 256 << 20;

// Large arrays lie in huge pages where the system has them: a GPU's pages are large, too, and kernels access
// memory accordingly.
static error allocate_in(struct memory_pool* pool, void** address, size_t size, int type) {
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
  *made = (struct allocation){NULL, asked, 0, type, pool, NULL};
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
  if (pool)
    count_use(pool, asked);
  pthread_mutex_unlock(&memory_mutex);
  if (xaas_checked)
    xaas_checks_add(made->address, asked, type == 1 ? "page-locked host memory" : type == 2 ? "an allocation of cudaMalloc()" : "managed memory");
  *address = made->address;
  return success;
}
static error allocate(void** address, size_t size, int type) { return allocate_in(NULL, address, size, type); }

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
  if (found) {
    *place = found->next;
    if (found->pool)
      count_release(found->pool, found->size);
  }
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
error cudaMallocManaged(void** address, size_t size, unsigned flags) { return (void)flags, allocate(address, size, 3); }
error cudaMallocHost(void** address, size_t size) { return allocate(address, size, 1); }
error cudaHostAlloc(void** address, size_t size, unsigned flags) { return (void)flags, allocate(address, size, 1); }
error cudaFree(void* address) { return release(address); }
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
