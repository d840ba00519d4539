// Problem: find accesses of kernels that a GPU would not allow, or whose result depends on the order of
// threads.
//
//     s[t] = a[t];             thread 0 writes s[0]: its place and thread are noted for these 4 bytes
//     b[t] = s[(t + 1) % 64];  thread 63 reads s[0], which thread 0 wrote since the last barrier: a hazard
//
// Approach: kernels run in the form in which each thread has its own place in the code, one after the other
// from one stop to the next, and call functions of this file before each access. Threads take turns only
// where they stop, so every order of accesses that a barrier does not forbid is as good as the one that
// happens: a hazard is found in whatever order the threads run.
//
// For each byte of shared memory, and of other memory that the block accesses, a cell notes who wrote it, who
// read it and who changed it atomically since the last barrier (an interval). Two readers suffice: one of
// each of two warps if there are such, else two lanes. A record that is ordered before a new one says no more
// than it, and goes. Lanes of a warp are ordered by clocks: each lane counts the operations of its warp that
// it took part in, and knows up to which count of each other lane everything happened before.
//
// Cells are of the block that a thread of the pool runs, not of the memory: blocks are not compared with each
// other, and what one notes needs no lock. A new interval makes all older cells void without touching them.
//
// Rejected: one shadow for all blocks. Blocks that run at the same time would take each other's cells, and
// the findings would depend on luck.
//
// The IR of this file becomes part of the run-time library (src/cpukernel/runtime.cpp).
#include "checks.h"
#include "findings.h"
#include "ranges.h"

void xaas_checks_start(struct xaas_checked_block* c, const struct xaas_block* block) {
  read_settings_once();
  start_block(c, block);
}

// ---- Bounds

static const char* verb(const struct xaas_source_place* place) {
  return place->access == xaas_load ? "read" : place->access == xaas_store ? "write" : "atomic operation";
}

static void add_distance(struct text* text, uintptr_t address, uintptr_t size, uintptr_t start,
                         uintptr_t end) {
  if (address >= end)
    add(text, "%llu bytes after ", (unsigned long long)(address - end));
  else if (address < start)
    add(text, "%llu bytes before ", (unsigned long long)(start - address));
  else
    add(text, "%llu bytes beyond the end of ", (unsigned long long)(address + size - end));
}

// Where an address is that no range contains: near one, or nowhere.
static void add_neighbour(struct text* text, uintptr_t address, size_t size) {
  enum { near = 1 << 20 };
  pthread_mutex_lock(&ranges_mutex);
  const size_t after = ranges_up_to(address);
  const struct range *before = after ? &ranges[after - 1] : NULL,
                     *next = after < range_count ? &ranges[after] : NULL;
  const uintptr_t gap_before = before ? address - before->end : UINTPTR_MAX;
  const uintptr_t gap_next = next ? next->start - address : UINTPTR_MAX;
  const struct range* nearest = before && (address < before->end || gap_before <= gap_next) ? before : next;
  const int inside = before && address < before->end;
  if (inside && before->freed)
    add(text, "in %s of %llu bytes that was freed", before->kind,
        (unsigned long long)(before->end - before->start));
  else if (nearest && (inside || (nearest == before ? gap_before : gap_next) < near)) {
    add_distance(text, address, size, nearest->start, nearest->end);
    add(text, "%s of %llu bytes%s", nearest->kind, (unsigned long long)(nearest->end - nearest->start),
        nearest->freed ? " that was freed" : "");
  } else
    add(text, "in no memory that the device may access%s", address < 4096 ? " (a null pointer)" : "");
  pthread_mutex_unlock(&ranges_mutex);
}

static int is_allocated(struct xaas_checked_block* c, uintptr_t address, size_t size, uint32_t number) {
  const uint32_t version = __atomic_load_n(&ranges_version, __ATOMIC_ACQUIRE), slot = number % known_ranges;
  if (c->known[slot].version == version && address >= c->known[slot].start &&
      address + size <= c->known[slot].end)
    return 1;
  pthread_mutex_lock(&ranges_mutex);
  const size_t at = ranges_up_to(address);
  const struct range* found = at ? &ranges[at - 1] : NULL;
  const int is_inside = found && !found->freed && address + size <= found->end && address + size >= address;
  if (is_inside) {
    c->known[slot].start = found->start;
    c->known[slot].end = found->end;
    c->known[slot].version = version;
  }
  pthread_mutex_unlock(&ranges_mutex);
  return is_inside;
}

enum space { in_shared, in_global, in_local };
struct target {
  enum space space;
  int is_allowed;
  uintptr_t start, end; // of the object, if it is known
};

// The thread's own variables: in the arena, or on the stack.
static int is_local(const struct xaas_checked_block* c, const char* address) {
  const struct xaas_block* b = c->block;
  const size_t arena = (size_t)c->kernel->thread_bytes * b->threads + 64 * ((size_t)c->kernel->arrays + 1);
  return (address >= b->arena && address < b->arena + arena) ||
         (address >= (const char*)__builtin_frame_address(0) && address < c->stack);
}

static struct target target_of(struct xaas_checked_block* c, const char* address, uint64_t size,
                               const char* object, const struct xaas_source_place* place, uint32_t number) {
  const struct xaas_block* b = c->block;
  struct target target = {in_global, 0, 0, 0};
  uint64_t start, bytes;
  if (place->object != xaas_unknown) {
    target.space = place->object == xaas_local_variable    ? in_local
                   : place->object == xaas_global_variable ? in_global
                                                           : in_shared;
    target.start = (uintptr_t)object;
    target.end =
        target.start + (place->object == xaas_dynamic_variable ? b->dynamic_size : place->object_size);
    target.is_allowed = (uintptr_t)address >= target.start && size <= target.end - target.start &&
                        (uintptr_t)address <= target.end - size;
  } else if (address >= b->shared && address < b->shared + c->kernel->shared_bytes + b->dynamic_size) {
    target.space = in_shared;
    target.is_allowed = shared_variable(c, (uint64_t)(address - b->shared), size, &start, &bytes) != NULL;
  } else if (is_local(c, address)) {
    target.space = in_local;
    target.is_allowed = 1;
  } else {
    target.is_allowed = is_allocated(c, (uintptr_t)address, size, number);
  }
  return target;
}

static const char* const space_names[] = {"shared memory", "global memory", "local memory"};

static void report_bounds(struct xaas_checked_block* c, uint32_t t, const char* address, uint64_t size,
                          struct target target, const struct xaas_source_place* place, uint32_t number) {
  if (!is_new(memcheck, 0, number, place->access))
    return;
  struct text text;
  begin(&text, memcheck, place);
  add(&text, "%s of %llu bytes of %s at %p, ", verb(place), (unsigned long long)size,
      space_names[target.space], (const void*)address);
  if (place->object == xaas_unknown && target.space == in_global) {
    add_neighbour(&text, (uintptr_t)address, size);
  } else if (place->object == xaas_unknown) {
    add(&text, "outside of the variables of %s", space_names[target.space]);
  } else {
    static const char* const names[] = {"", "a shared variable", "the dynamic shared memory", "a variable",
                                        "a local variable"};
    add_distance(&text, (uintptr_t)address, size, target.start, target.end);
    add(&text, "%s of %llu bytes", names[place->object], (unsigned long long)(target.end - target.start));
  }
  add_context(&text, c, t);
  print(&text, memcheck);
}

static void report_alignment(struct xaas_checked_block* c, uint32_t t, const char* address,
                             struct target target, const struct xaas_source_place* place, uint32_t number) {
  if (!is_new(memcheck, 1, number, place->access))
    return;
  struct text text;
  begin(&text, memcheck, place);
  add(&text, "misaligned %s of %u bytes of %s at %p, which is no multiple of %u", verb(place), place->size,
      space_names[target.space], (const void*)address, place->alignment);
  add_context(&text, c, t);
  print(&text, memcheck);
}

static void* sink(struct xaas_checked_block* c, size_t size) {
  if (size > c->sink_size) {
    free(c->sink);
    c->sink_size = (size + 4095) & ~(size_t)4095;
    c->sink = aligned_alloc(4096, c->sink_size);
    if (!c->sink)
      abort();
  }
  memset(c->sink, 0, size);
  return c->sink;
}

// ---- Hazards

static const char* const hazard_texts[] = {"read after write (RAW)", "write after read (WAR)",
                                           "write after write (WAW)"};
enum hazard { after_write, read_before, write_before };

static void report_hazard(struct xaas_checked_block* c, uint32_t t, const char* address, uint64_t size,
                          int is_shared, enum hazard hazard, record other, int is_other_atomic,
                          const struct xaas_source_place* place, uint32_t number) {
  if (!is_new(racecheck, hazard, number, number_in(other)))
    return;
  const int is_warp = thread_of(other) / xaas_warp_size == t / xaas_warp_size;
  struct text text;
  begin(&text, racecheck, place);
  add(&text, "%s of %llu bytes of ", hazard_texts[hazard], (unsigned long long)size);
  add_space(&text, c, address, is_shared);
  add(&text, ", with no %s between%s", is_warp ? "__syncwarp() or barrier" : "barrier",
      place->access == xaas_atomic ? "; this access is atomic, the other is not"
      : is_other_atomic            ? "; the other access is atomic, this one is not"
                                   : "");
  add_context(&text, c, t);
  add(&text, "\n  after the %s by ",
      is_other_atomic         ? "atomic operation"
      : hazard == read_before ? "read"
                              : "write");
  add_thread(&text, c->block, thread_of(other));
  add(&text, " at ");
  add_place(&text, place_of(number_in(other)));
  print(&text, racecheck);
}

// Keeps one record of each of two warps if there are such, else of two lanes.
static void note(struct xaas_checked_block* c, record pair[2], record own, uint32_t t) {
  if (pair[1] && is_ordered(c, pair[1], t))
    pair[1] = 0;
  if (!pair[0] || is_ordered(c, pair[0], t))
    pair[0] = own;
  else if (!pair[1] || thread_of(pair[1]) / xaas_warp_size == thread_of(pair[0]) / xaas_warp_size)
    pair[1] = own;
}

static record unordered(const struct xaas_checked_block* c, const record pair[2], uint32_t t) {
  for (int i = 0; i < 2; ++i)
    if (pair[i] && !is_ordered(c, pair[i], t))
      return pair[i];
  return 0;
}

// What an access meets; the first of each kind.
struct met {
  record write, read, atomic;
  int unwritten;
};

static void look_at_cell(struct xaas_checked_block* c, struct cell* cell, uint32_t access, record own,
                         uint32_t t, struct met* met) {
  met->unwritten |= cell->written < c->first;
  if (!met->write && cell->write && !is_ordered(c, cell->write, t))
    met->write = cell->write;
  if (!met->read && access != xaas_load)
    met->read = unordered(c, cell->reads, t);
  if (!met->atomic && access != xaas_atomic)
    met->atomic = unordered(c, cell->atomics, t);
  if (access == xaas_load) {
    note(c, cell->reads, own, t);
    return;
  }
  cell->written = c->interval;
  if (access == xaas_atomic) {
    note(c, cell->atomics, own, t);
    return;
  }
  cell->write = own;
  cell->reads[0] = cell->reads[1] = cell->atomics[0] = cell->atomics[1] = 0;
}

// `keeps`: the access writes the value that is there already.
static void look_at(struct xaas_checked_block* c, uint32_t t, const char* address, uint64_t size,
                    int is_shared, int keeps, int needs_value, struct xaas_source_place* place,
                    uint32_t number) {
  const record own = record_of(c, t, number);
  struct met met = {0, 0, 0, 0};
  for (uint64_t i = 0; i < size; ++i)
    look_at_cell(c, cell_of(c, address + i, is_shared), place->access, own, t, &met);
  const enum hazard with_write = place->access == xaas_load ? after_write : write_before;
  if (met.write && !keeps)
    report_hazard(c, t, address, size, is_shared, with_write, met.write, 0, place, number);
  if (met.atomic)
    report_hazard(c, t, address, size, is_shared, with_write, met.atomic, 1, place, number);
  if (met.read)
    report_hazard(c, t, address, size, is_shared, read_before, met.read, 0, place, number);
  if (!met.unwritten || !is_shared || !needs_value || !is_new(initcheck, 0, number, 0))
    return;
  struct text text;
  begin(&text, initcheck, place);
  add(&text, "%s of %llu bytes of ", verb(place), (unsigned long long)size);
  add_space(&text, c, address, 1);
  add(&text, ", which no thread of the block wrote");
  add_context(&text, c, t);
  print(&text, initcheck);
}

void* xaas_thread_check_access(const struct xaas_block* block, uint32_t x, uint32_t y, uint32_t z, uint32_t t,
                               void* address, void* object, uint64_t value, struct xaas_source_place* place) {
  (void)x, (void)y, (void)z;
  struct xaas_checked_block* const c = block->checked;
  const uint32_t number = number_of(place);
  const struct target target = target_of(c, address, place->size, object, place, number);
  if (!target.is_allowed)
    report_bounds(c, t, address, place->size, target, place, number);
  const int is_aligned = (uintptr_t)address % place->alignment == 0;
  if (!is_aligned)
    report_alignment(c, t, address, target, place, number);
  if (!target.is_allowed || !is_aligned)
    return sink(c, place->size);
  if (target.space != in_local)
    look_at(c, t, address, place->size, target.space == in_shared,
            place->has_value && !memcmp(address, &value, place->size), place->access != xaas_store, place,
            number);
  return address;
}

uint64_t xaas_thread_check_range(const struct xaas_block* block, uint32_t x, uint32_t y, uint32_t z,
                                 uint32_t t, void* address, void* object, uint64_t length,
                                 struct xaas_source_place* place) {
  (void)x, (void)y, (void)z;
  if (!length)
    return 0;
  struct xaas_checked_block* const c = block->checked;
  const uint32_t number = number_of(place);
  const struct target target = target_of(c, address, length, object, place, number);
  if (!target.is_allowed) {
    report_bounds(c, t, address, length, target, place, number);
    return 0;
  }
  // Structures may have bytes between their members that nobody writes, so that a copy needs no value.
  if (target.space != in_local)
    look_at(c, t, address, length, target.space == in_shared, 0, 0, place, number);
  return length;
}

// ---- Meetings

enum {
  node_kind = 3u << 30,
  at_warp = 1u << 30,
  at_block = 2u << 30,
  ended = 3u << 30,
  index_bits = (1u << 29) - 1
};

static struct xaas_source_place* place_at(const struct xaas_checked_block* c, uint32_t node) {
  return c->kernel->checks->nodes[node & index_bits];
}

static void check_barrier(struct xaas_checked_block* c, const uint32_t* nodes, const uint8_t* run) {
  const struct xaas_block* b = c->block;
  uint32_t first = 0;
  while (!run[first])
    ++first;
  struct xaas_source_place* const place = place_at(c, nodes[first]);
  for (uint32_t t = first + 1; t < b->threads; ++t) {
    if (!run[t] || nodes[t] == nodes[first])
      continue;
    struct xaas_source_place* const other = place_at(c, nodes[t]);
    if (!is_new(synccheck, 0, number_of(place), number_of(other)))
      return;
    struct text text;
    begin(&text, synccheck, place);
    add(&text, "divergent barrier: not all threads of the block come to it");
    add_context(&text, c, first);
    add(&text, "\n  ");
    add_thread(&text, b, t);
    add(&text, " waits at ");
    add_place(&text, other);
    print(&text, synccheck);
    return;
  }
}

// Lanes of the mask that have neither come nor ended.
static uint32_t missing_lanes(const struct xaas_block* b, const uint32_t* nodes, uint32_t mask, uint32_t t) {
  const uint32_t first = t - t % xaas_warp_size;
  uint32_t missing = 0;
  for (uint32_t lane = 0; lane < xaas_warp_size && first + lane < b->threads; ++lane)
    if ((mask >> lane & 1) && nodes[first + lane] != nodes[t] && nodes[first + lane] != ended)
      missing |= 1u << lane;
  return missing;
}

static void check_mask(struct xaas_checked_block* c, const uint32_t* nodes, uint32_t mask, uint32_t t) {
  const uint32_t missing = missing_lanes(c->block, nodes, mask, t);
  const int has_own = mask >> t % xaas_warp_size & 1;
  if (has_own && !missing)
    return;
  struct xaas_source_place* const place = place_at(c, nodes[t]);
  const uint32_t first = t - t % xaas_warp_size, lane = missing ? (uint32_t)__builtin_ctz(missing) : 0;
  struct xaas_source_place* const other = missing ? place_at(c, nodes[first + lane]) : NULL;
  if (!is_new(synccheck, missing ? 1 : 2, number_of(place), other ? number_of(other) : 0))
    return;
  struct text text;
  begin(&text, synccheck, place);
  if (missing)
    add(&text, "lanes 0x%08x of the mask 0x%08x do not come", missing, mask);
  else
    add(&text, "the thread's own lane %u is not in its mask 0x%08x", t % xaas_warp_size, mask);
  add_context(&text, c, t);
  if (other) {
    add(&text, "\n  ");
    add_thread(&text, c->block, first + lane);
    add(&text, " waits at ");
    add_place(&text, other);
  }
  print(&text, synccheck);
}

// All that lanes of a set did is ordered before what they do now.
static void order_lanes(struct xaas_checked_block* c, uint32_t first, uint32_t lanes) {
  uint32_t all[xaas_warp_size] = {0};
  c->warps_met = 1;
  for (uint32_t lane = 0; lane < xaas_warp_size; ++lane)
    if (lanes >> lane & 1) {
      const uint32_t t = first + lane, now = ++c->clocks[t];
      for (uint32_t other = 0; other < xaas_warp_size; ++other)
        all[other] = c->seen[t][other] > all[other] ? c->seen[t][other] : all[other];
      all[lane] = now;
    }
  for (uint32_t lane = 0; lane < xaas_warp_size; ++lane)
    if (lanes >> lane & 1)
      memcpy(c->seen[first + lane], all, sizeof(all));
}

void xaas_check_meeting(const struct xaas_block* b, const uint32_t* nodes, const uint32_t* masks,
                        const uint8_t* run) {
  struct xaas_checked_block* const c = b->checked;
  uint32_t kind = 0; // all that run waited for the same
  for (uint32_t t = 0; t < b->threads && !kind; ++t)
    kind = run[t] ? nodes[t] & node_kind : 0;
  if (kind == at_block) {
    check_barrier(c, nodes, run);
    next_interval(c);
  }
  if (kind != at_warp)
    return;
  for (uint32_t t = 0; t < b->threads; ++t)
    if (run[t])
      check_mask(c, nodes, masks[t], t);
  for (uint32_t first = 0; first < b->threads; first += xaas_warp_size) {
    uint32_t left = 0;
    for (uint32_t lane = 0; lane < xaas_warp_size && first + lane < b->threads; ++lane)
      left |= (uint32_t)(run[first + lane] != 0) << lane;
    while (left) {
      const uint32_t t = first + (uint32_t)__builtin_ctz(left);
      uint32_t lanes = 1u << t % xaas_warp_size;
      for (uint32_t lane = 0; lane < xaas_warp_size && first + lane < b->threads; ++lane)
        if ((left & masks[t]) >> lane & 1 && nodes[first + lane] == nodes[t])
          lanes |= 1u << lane;
      order_lanes(c, first, lanes);
      left &= ~lanes;
    }
  }
}
