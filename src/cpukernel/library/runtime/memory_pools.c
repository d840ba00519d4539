// Memory pools (CUDA Runtime API, "Stream Ordered Memory Allocator"). Operations in streams have ended when
// the call returns, so freed memory goes back at once, and a pool reserves no more than its allocations.

struct memory_pool {
  uint64_t release_threshold, used, most_used;
  int reuses[3]; // by the attribute; they have no effect
  int destroyed; // and kept while memory of it is in use
};
enum {
  reuse_first = 1,
  reuse_last = 3,
  release_threshold = 4,
  reserved_now = 5,
  reserved_most = 6,
  used_now = 7,
  used_most = 8,
};
static struct memory_pool default_pool = {.reuses = {1, 1, 1}};
static struct memory_pool* current_pool = &default_pool;

// Where memory lies, as cudaMemPoolProps and cudaMemAccessDesc begin.
struct location {
  int type, id;
};
enum { location_device = 1, read_and_write = 3, pinned_memory = 1 };
static int is_the_device(const struct location* location) {
  return location->type == location_device && location->id == 0;
}

// `memory_mutex` is locked.
static void count_use(struct memory_pool* pool, size_t size) {
  pool->used += size;
  if (pool->used > pool->most_used)
    pool->most_used = pool->used;
}
static void count_release(struct memory_pool* pool, size_t size) {
  pool->used -= size;
  if (pool->destroyed && pool->used == 0)
    free(pool);
}

error cudaMallocAsync(void** address, size_t size, void* stream) {
  return (void)stream, allocate_in(current_pool, address, size, 2);
}
error cudaMallocFromPoolAsync(void** address, size_t size, struct memory_pool* pool, void* stream) {
  (void)stream;
  return pool ? allocate_in(pool, address, size, 2) : result(invalid_value);
}
error cudaFreeAsync(void* address, void* stream) { return (void)stream, release(address); }

error cudaDeviceGetDefaultMemPool(struct memory_pool** pool, int device) {
  if (device != 0)
    return result(invalid_device);
  *pool = &default_pool;
  return success;
}
error cudaDeviceGetMemPool(struct memory_pool** pool, int device) {
  if (device != 0)
    return result(invalid_device);
  *pool = current_pool;
  return success;
}
error cudaDeviceSetMemPool(int device, struct memory_pool* pool) {
  if (device != 0)
    return result(invalid_device);
  if (!pool)
    return result(invalid_value);
  current_pool = pool;
  return success;
}

struct pool_properties {
  int allocation_type, handle_types;
  struct location location;
};
error cudaMemPoolCreate(struct memory_pool** pool, const struct pool_properties* properties) {
  if (!pool || !properties || properties->allocation_type != pinned_memory)
    return result(invalid_value);
  if (properties->handle_types != 0 || !is_the_device(&properties->location))
    return result(not_supported);
  *pool = malloc(sizeof(**pool));
  if (!*pool)
    return result(memory_allocation);
  **pool = (struct memory_pool){.reuses = {1, 1, 1}};
  return success;
}
error cudaMemPoolDestroy(struct memory_pool* pool) {
  if (!pool || pool == &default_pool)
    return result(invalid_value);
  pthread_mutex_lock(&memory_mutex);
  if (current_pool == pool)
    current_pool = &default_pool;
  pool->destroyed = 1;
  if (pool->used == 0)
    free(pool);
  pthread_mutex_unlock(&memory_mutex);
  return success;
}
error cudaMemPoolTrimTo(struct memory_pool* pool, size_t least) {
  return (void)least, pool ? success : result(invalid_value);
}
error cudaMemPoolGetAttribute(struct memory_pool* pool, int attribute, void* value) {
  if (!pool || !value)
    return result(invalid_value);
  if (attribute >= reuse_first && attribute <= reuse_last) {
    *(int*)value = pool->reuses[attribute - reuse_first];
    return success;
  }
  uint64_t found;
  pthread_mutex_lock(&memory_mutex);
  error code = success;
  switch (attribute) {
  case release_threshold:
    found = pool->release_threshold;
    break;
  case reserved_now:
  case used_now:
    found = pool->used;
    break;
  case reserved_most:
  case used_most:
    found = pool->most_used;
    break;
  default:
    found = 0;
    code = invalid_value;
  }
  pthread_mutex_unlock(&memory_mutex);
  if (code == success)
    *(uint64_t*)value = found;
  return result(code);
}
error cudaMemPoolSetAttribute(struct memory_pool* pool, int attribute, const void* value) {
  if (!pool || !value)
    return result(invalid_value);
  if (attribute >= reuse_first && attribute <= reuse_last) {
    pool->reuses[attribute - reuse_first] = *(const int*)value;
    return success;
  }
  if (attribute == release_threshold) {
    pool->release_threshold = *(const uint64_t*)value;
    return success;
  }
  if ((attribute != reserved_most && attribute != used_most) || *(const uint64_t*)value != 0)
    return result(invalid_value);
  pthread_mutex_lock(&memory_mutex);
  pool->most_used = pool->used;
  pthread_mutex_unlock(&memory_mutex);
  return success;
}

struct access {
  struct location location;
  int flags;
};
error cudaMemPoolSetAccess(struct memory_pool* pool, const struct access* all, size_t count) {
  if (!pool || (!all && count > 0))
    return result(invalid_value);
  for (size_t i = 0; i < count; ++i)
    if (!is_the_device(&all[i].location) || all[i].flags != read_and_write)
      return result(invalid_value);
  return success;
}
error cudaMemPoolGetAccess(int* flags, struct memory_pool* pool, const struct location* location) {
  if (!pool || !flags || !location)
    return result(invalid_value);
  *flags = is_the_device(location) ? read_and_write : 0;
  return success;
}
