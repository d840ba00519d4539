// Part of checks.c: memory that kernels may access, sorted by address.
#pragma once

#include "places.h"

struct range {
  uintptr_t start, end;
  const char* kind;
  int freed;
};
static struct range* ranges;
static size_t range_count, range_room;
static uint32_t ranges_version = 1;
static pthread_mutex_t ranges_mutex = PTHREAD_MUTEX_INITIALIZER;

// The number of ranges that start at or before an address.
static size_t ranges_up_to(uintptr_t address) {
  size_t low = 0, high = range_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges[middle].start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void drop_range(size_t index) {
  memmove(ranges + index, ranges + index + 1, (--range_count - index) * sizeof(*ranges));
}

void xaas_checks_add(const void* address, size_t size, const char* kind) {
  const uintptr_t start = (uintptr_t)address;
  if (!size)
    return;
  pthread_mutex_lock(&ranges_mutex);
  size_t at = ranges_up_to(start);
  if (at && ranges[at - 1].end > start)
    drop_range(--at);
  while (at < range_count && ranges[at].start < start + size)
    drop_range(at);
  if (range_count == range_room) {
    range_room = range_room ? 2 * range_room : 256;
    struct range* more = allocated(range_room * sizeof(*more));
    if (ranges)
      memcpy(more, ranges, range_count * sizeof(*more));
    free(ranges);
    ranges = more;
  }
  memmove(ranges + at + 1, ranges + at, (range_count++ - at) * sizeof(*ranges));
  ranges[at] = (struct range){start, start + size, kind, 0};
  __atomic_fetch_add(&ranges_version, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&ranges_mutex);
}

static void change_range(const void* address, int forgets) {
  pthread_mutex_lock(&ranges_mutex);
  const size_t at = ranges_up_to((uintptr_t)address);
  if (at && ranges[at - 1].start == (uintptr_t)address) {
    if (forgets)
      drop_range(at - 1);
    else
      ranges[at - 1].freed = 1;
    __atomic_fetch_add(&ranges_version, 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&ranges_mutex);
}
void xaas_checks_free(const void* address) {
  change_range(address, 0);
}
void xaas_checks_forget(const void* address) {
  change_range(address, 1);
}
