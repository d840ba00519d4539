// Part of checks.c: notes on the block that a thread of the pool runs.
#pragma once

#include "places.h"

typedef uint64_t record; // a thread (10 bits), a place (22 bits) and the thread's clock; 0: none
struct cell {
  uint32_t interval, written; // in which the records were made, and the byte was last written
  record write, reads[2], atomics[2];
};
enum { page_bytes = 256, most_kept_pages = 4096, known_ranges = 256 };
struct page {
  uintptr_t number;  // of the page in memory
  struct page* next; // of those that are not used
  struct cell cells[page_bytes];
};

struct xaas_checked_block {
  const struct xaas_kernel* kernel;
  const struct xaas_block* block;
  const char* stack;
  uint32_t interval, first; // now, and the block's first
  struct cell* shared;
  size_t shared_room;  // bytes of shared memory
  struct page** pages; // a hash table
  size_t page_count, page_slots;
  struct page *last_page, *spare;
  uint32_t clocks[xaas_most_threads];
  uint32_t seen[xaas_most_threads]
               [xaas_warp_size]; // the clocks of the warp's lanes before which all is ordered
  int warps_met;                 // since the last barrier
  struct {
    uintptr_t start, end;
    uint32_t version;
  } known[known_ranges]; // by place
  char* sink;            // in place of memory that may not be accessed
  size_t sink_size;
};

static uint32_t thread_of(record r) {
  return (uint32_t)(r >> 54);
}
static uint32_t number_in(record r) {
  return (uint32_t)(r >> 32) & (most_places - 1);
}
static record record_of(const struct xaas_checked_block* c, uint32_t t, uint32_t number) {
  return (uint64_t)t << 54 | (uint64_t)number << 32 | c->clocks[t];
}

// Whether all that a record says happened before what a thread does now.
static int is_ordered(const struct xaas_checked_block* c, record r, uint32_t t) {
  const uint32_t other = thread_of(r);
  if (other == t)
    return 1;
  return c->warps_met && other / xaas_warp_size == t / xaas_warp_size &&
         c->seen[t][other % xaas_warp_size] > (uint32_t)r;
}

// The pages are used again as they are: what they say is void in a later interval.
static void drop_pages(struct xaas_checked_block* c) {
  for (size_t i = 0; i < c->page_slots; ++i)
    if (c->pages[i]) {
      c->pages[i]->next = c->spare;
      c->spare = c->pages[i];
      c->pages[i] = NULL;
    }
  c->page_count = 0;
  c->last_page = NULL;
}

static struct page** slot_of(struct page** pages, size_t slots, uintptr_t number) {
  size_t at = (size_t)(number * 0x9e3779b97f4a7c15u >> 32) & (slots - 1);
  while (pages[at] && pages[at]->number != number)
    at = (at + 1) & (slots - 1);
  return &pages[at];
}

static struct page* page_of(struct xaas_checked_block* c, uintptr_t number) {
  if (2 * (c->page_count + 1) > c->page_slots) {
    const size_t slots = c->page_slots ? 2 * c->page_slots : 1024;
    struct page** pages = allocated(slots * sizeof(*pages));
    for (size_t i = 0; i < c->page_slots; ++i)
      if (c->pages[i])
        *slot_of(pages, slots, c->pages[i]->number) = c->pages[i];
    free(c->pages);
    c->pages = pages;
    c->page_slots = slots;
  }
  struct page** slot = slot_of(c->pages, c->page_slots, number);
  if (!*slot) {
    if (c->spare) {
      *slot = c->spare;
      c->spare = (*slot)->next;
    } else {
      *slot = allocated(sizeof(**slot));
    }
    (*slot)->number = number;
    ++c->page_count;
  }
  return *slot;
}

static struct cell* cell_of(struct xaas_checked_block* c, const char* address, int is_shared) {
  struct cell* cell;
  if (is_shared) {
    cell = &c->shared[address - c->block->shared];
  } else {
    const uintptr_t number = (uintptr_t)address / page_bytes;
    if (!c->last_page || c->last_page->number != number)
      c->last_page = page_of(c, number);
    cell = &c->last_page->cells[(uintptr_t)address % page_bytes];
  }
  if (cell->interval != c->interval) {
    cell->interval = c->interval;
    cell->write = cell->reads[0] = cell->reads[1] = cell->atomics[0] = cell->atomics[1] = 0;
  }
  return cell;
}

// Since then, nothing is ordered but by barriers.
static void next_interval(struct xaas_checked_block* c) {
  if (++c->interval == 0) { // after 4 billion barriers
    drop_pages(c);
    for (struct page* page = c->spare; page; page = page->next)
      memset(page->cells, 0, sizeof(page->cells));
    memset(c->shared, 0, c->shared_room * sizeof(*c->shared));
    c->interval = c->first = 1;
  }
  if (c->warps_met) {
    memset(c->clocks, 0, sizeof(c->clocks));
    memset(c->seen, 0, c->block->threads * sizeof(*c->seen));
    c->warps_met = 0;
  }
}

struct xaas_checked_block* xaas_checks_of_thread(const struct xaas_kernel* kernel, const void* stack) {
  static _Thread_local struct xaas_checked_block* own;
  if (!own)
    own = allocated(sizeof(*own));
  own->kernel = kernel;
  own->stack = stack;
  return own;
}

static void start_block(struct xaas_checked_block* c, const struct xaas_block* block) {
  const size_t bytes = (size_t)c->kernel->shared_bytes + block->dynamic_size;
  c->block = block;
  if (bytes > c->shared_room) {
    free(c->shared);
    c->shared = allocated(bytes * sizeof(*c->shared));
    c->shared_room = bytes;
  }
  if (c->page_count > most_kept_pages)
    drop_pages(c);
  next_interval(c);
  c->first = c->interval;
}
