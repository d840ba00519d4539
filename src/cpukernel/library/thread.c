// Intrinsics of the NVPTX back end that depend on the thread, or on the other threads of its warp or block.
// The file is compiled to IR with the project and linked into each device module; src/cpukernel/library.cpp
// finds the functions by their names.
//
//   xaas_thread_NAME    llvm.nvvm.NAME with the thread's place in its block before its own operands
//   xaas_warp_NAME      llvm.nvvm.NAME after all threads that take part have published a value each
//
// Source: PTX ISA 9.0, "Special Registers", "shfl.sync", "vote.sync", "match.sync", "redux.sync",
// "barrier.cta".
#include "block.h"

int sched_yield(void);

#define INLINE __attribute__((always_inline))
typedef const struct xaas_block* block;
#define THREAD block b, uint32_t x, uint32_t y, uint32_t z, uint32_t t
#define UNUSED (void)b, (void)x, (void)y, (void)z, (void)t

#define REGISTER(name, value)                                                                                \
  INLINE uint32_t xaas_thread_read_ptx_sreg_##name(THREAD) {                                                 \
    UNUSED;                                                                                                  \
    return value;                                                                                            \
  }
REGISTER(tid_x, x)
REGISTER(tid_y, y)
REGISTER(tid_z, z)
REGISTER(ntid_x, b->size[0])
REGISTER(ntid_y, b->size[1])
REGISTER(ntid_z, b->size[2])
REGISTER(ctaid_x, b->index[0])
REGISTER(ctaid_y, b->index[1])
REGISTER(ctaid_z, b->index[2])
REGISTER(nctaid_x, b->grid[0])
REGISTER(nctaid_y, b->grid[1])
REGISTER(nctaid_z, b->grid[2])
REGISTER(laneid, t % xaas_warp_size)
REGISTER(warpid, t / xaas_warp_size)
REGISTER(nwarpid, (b->threads + xaas_warp_size - 1) / xaas_warp_size)
REGISTER(warpsize, xaas_warp_size)
REGISTER(smid, 0)
REGISTER(nsmid, 1)
REGISTER(gridid, 0)
REGISTER(lanemask_eq, 1u << t % xaas_warp_size)
REGISTER(lanemask_lt, (1u << t % xaas_warp_size) - 1)
REGISTER(lanemask_le, (2u << t % xaas_warp_size) - 1)
REGISTER(lanemask_gt, ~((2u << t % xaas_warp_size) - 1))
REGISTER(lanemask_ge, ~((1u << t % xaas_warp_size) - 1))
// Lanes that run together are those that a thread can be sure of: itself. Threads need not reconverge (PTX
// ISA, "activemask").
INLINE uint32_t xaas_thread_activemask(THREAD) {
  UNUSED;
  return 1u << t % xaas_warp_size;
}
REGISTER(total_smem_size, b->dynamic_size)
REGISTER(dynamic_smem_size, b->dynamic_size)

// Published values of the block's threads, and the thread that asks.
#define WARP const uint64_t* values, block b, uint32_t t

// The lane that a lane reads from, or -1 if there is none and it keeps its own value.
enum shuffle { up, down, bfly, idx };
static INLINE int source_lane(enum shuffle kind, uint32_t lane, uint32_t operand, uint32_t clamp) {
  const uint32_t by = operand & 31, limit = clamp & 31, segment = clamp >> 8 & 31;
  const int highest = (int)((lane & segment) | (limit & ~segment)), lowest = (int)(lane & segment);
  switch (kind) {
  case up: {
    const int from = (int)lane - (int)by;
    return from >= highest ? from : -1;
  }
  case down: {
    const int from = (int)(lane + by);
    return from <= highest ? from : -1;
  }
  case bfly: {
    const int from = (int)(lane ^ by);
    return from <= highest ? from : -1;
  }
  default: {
    const int from = lowest | (int)(by & ~segment);
    return from <= highest ? from : -1;
  }
  }
}

struct shuffled {
  uint32_t value;
  _Bool in_range;
};
static INLINE struct shuffled shuffle(WARP, enum shuffle kind, uint32_t operand, uint32_t clamp) {
  const uint32_t lane = t % xaas_warp_size, first = t - lane;
  const int from = source_lane(kind, lane, operand, clamp);
  // What a lane that does not exist would give is undefined.
  const int exists = from >= 0 && first + (uint32_t)from < b->threads;
  return (struct shuffled){(uint32_t)values[exists ? first + (uint32_t)from : t], from >= 0};
}
#define SHUFFLE(kind)                                                                                        \
  INLINE uint32_t xaas_warp_shfl_sync_##kind##_i32(WARP, uint32_t mask, uint32_t value, uint32_t operand,    \
                                                   uint32_t clamp) {                                         \
    (void)mask, (void)value;                                                                                 \
    return shuffle(values, b, t, kind, operand, clamp).value;                                                \
  }                                                                                                          \
  INLINE float xaas_warp_shfl_sync_##kind##_f32(WARP, uint32_t mask, float value, uint32_t operand,          \
                                                uint32_t clamp) {                                            \
    (void)mask, (void)value;                                                                                 \
    const uint32_t bits = shuffle(values, b, t, kind, operand, clamp).value;                                 \
    float result;                                                                                            \
    __builtin_memcpy(&result, &bits, sizeof(result));                                                        \
    return result;                                                                                           \
  }                                                                                                          \
  INLINE _Bool xaas_in_range_shfl_sync_##kind(uint32_t t, uint32_t operand, uint32_t clamp) {                \
    return source_lane(kind, t % xaas_warp_size, operand, clamp) >= 0;                                       \
  }
SHUFFLE(up)
SHUFFLE(down)
SHUFFLE(bfly)
SHUFFLE(idx)

// Threads that have ended take no part: 0. So a predicate is published as 1 or 2, and a value of 32 bits with another
// bit. (One of 64 bits that is 0 counts as that of an ended thread.)
enum { is_false = 1, is_true = 2 };
static INLINE _Bool takes_part(uint64_t value) {
  return value != 0;
}

// The lanes of `mask` that published `value`. Each lane asks for all, so that a whole warp is compared at once.
static INLINE uint32_t lanes_with(WARP, uint32_t mask, uint64_t value) {
  typedef uint64_t all __attribute__((ext_vector_type(xaas_warp_size)));
  typedef _Bool flags __attribute__((ext_vector_type(xaas_warp_size)));
  const uint32_t first = t - t % xaas_warp_size;
  uint32_t result = 0;
  if (b->threads - first >= xaas_warp_size) {
    all published;
    __builtin_memcpy(&published, values + first, sizeof(published));
    const flags same = __builtin_convertvector(published == value, flags);
    __builtin_memcpy(&result, &same, sizeof(result));
  } else {
    for (uint32_t lane = 0; first + lane < b->threads; ++lane)
      result |= (uint32_t)(values[first + lane] == value) << lane;
  }
  return result & mask;
}
INLINE uint32_t xaas_warp_vote_ballot_sync(WARP, uint32_t mask, _Bool value) {
  (void)value;
  return lanes_with(values, b, t, mask, is_true);
}
INLINE _Bool xaas_warp_vote_any_sync(WARP, uint32_t mask, _Bool value) {
  (void)value;
  return lanes_with(values, b, t, mask, is_true) != 0;
}
INLINE _Bool xaas_warp_vote_all_sync(WARP, uint32_t mask, _Bool value) {
  (void)value;
  return lanes_with(values, b, t, mask, is_false) == 0;
}
INLINE _Bool xaas_warp_vote_uni_sync(WARP, uint32_t mask, _Bool value) {
  (void)value;
  return lanes_with(values, b, t, mask, is_false) == 0 || lanes_with(values, b, t, mask, is_true) == 0;
}

INLINE uint32_t xaas_warp_match_any_sync_i32(WARP, uint32_t mask, uint32_t value) {
  (void)value;
  return lanes_with(values, b, t, mask, values[t]);
}
INLINE uint32_t xaas_warp_match_any_sync_i64(WARP, uint32_t mask, uint64_t value) {
  (void)value;
  return lanes_with(values, b, t, mask, values[t]);
}

// All lanes of the mask that have not ended, or none; the second result says which.
static INLINE uint32_t all_with(WARP, uint32_t mask) {
  const uint32_t there = b->threads - (t - t % xaas_warp_size),
                 all = there < xaas_warp_size ? (1u << there) - 1 : ~0u,
                 live = mask & all & ~lanes_with(values, b, t, ~0u, 0);
  return lanes_with(values, b, t, mask, values[t]) == live ? live : 0;
}
INLINE uint32_t xaas_warp_match_all_sync_i32(WARP, uint32_t mask, uint32_t value) {
  (void)value;
  return all_with(values, b, t, mask);
}
INLINE uint32_t xaas_warp_match_all_sync_i64(WARP, uint32_t mask, uint64_t value) {
  (void)value;
  return all_with(values, b, t, mask);
}

// A reduction over the lanes of a mask, in the order of the lanes.
#define REDUCE(name, type, identity, combined)                                                               \
  INLINE uint32_t xaas_warp_redux_sync_##name(WARP, uint32_t value, uint32_t mask) {                         \
    (void)value;                                                                                             \
    const uint32_t first = t - t % xaas_warp_size;                                                           \
    type result = identity;                                                                                  \
    for (uint32_t lane = 0; lane < xaas_warp_size && first + lane < b->threads; ++lane) {                    \
      const type each = (type)values[first + lane];                                                          \
      result = (mask >> lane & 1) && takes_part(values[first + lane]) ? (combined) : result;                 \
    }                                                                                                        \
    return (uint32_t)result;                                                                                 \
  }
REDUCE(add, uint32_t, 0, result + each)
REDUCE(and, uint32_t, ~0u, result& each)
REDUCE(or, uint32_t, 0, result | each)
REDUCE(xor, uint32_t, 0, result ^ each)
REDUCE(umin, uint32_t, ~0u, result < each ? result : each)
REDUCE(umax, uint32_t, 0, result > each ? result : each)
REDUCE(min, int32_t, INT32_MAX, result < each ? result : each)
REDUCE(max, int32_t, INT32_MIN, result > each ? result : each)

// Of the whole block: __syncthreads_count() and the like.
static INLINE uint32_t threads_with(const uint64_t* values, block b, uint64_t value) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < b->threads; ++i)
    count += values[i] == value;
  return count;
}
#define BLOCK_REDUCTIONS(kind)                                                                               \
  INLINE uint32_t xaas_warp_barrier_cta_red_popc_##kind(WARP, uint32_t barrier, _Bool value) {               \
    (void)barrier, (void)value, (void)t;                                                                     \
    return threads_with(values, b, is_true);                                                                 \
  }                                                                                                          \
  INLINE _Bool xaas_warp_barrier_cta_red_and_##kind(WARP, uint32_t barrier, _Bool value) {                   \
    (void)barrier, (void)value, (void)t;                                                                     \
    return threads_with(values, b, is_false) == 0;                                                           \
  }                                                                                                          \
  INLINE _Bool xaas_warp_barrier_cta_red_or_##kind(WARP, uint32_t barrier, _Bool value) {                    \
    (void)barrier, (void)value, (void)t;                                                                     \
    return threads_with(values, b, is_true) != 0;                                                            \
  }
BLOCK_REDUCTIONS(aligned_all)
BLOCK_REDUCTIONS(all)

// What the code that src/cpukernel/regions.cpp makes needs of a block.
INLINE void* xaas_argument(void** arguments, uint32_t number) {
  return arguments[number];
}
INLINE char* xaas_shared(block b, uint32_t offset) {
  return b->shared + offset;
}
// The thread's slot of `size` bytes. The slots of all threads lie side by side, after `before` bytes for each
// in `number` earlier arrays. Each array starts at a multiple of 64 bytes.
INLINE char* xaas_slot(block b, uint32_t t, uint32_t number, uint64_t before, uint64_t size) {
  return b->arena + ((before * b->threads + 63) & ~(uint64_t)63) + 64 * (uint64_t)number + t * size;
}
INLINE uint32_t xaas_size(block b, uint32_t dimension) {
  return b->size[dimension];
}

// Of a thread that has a stack of its own (library/fibers.c).
#define PLACE(type, name)                                                                                    \
  INLINE type xaas_place_##name(const struct xaas_place* place) {                                            \
    return place->name;                                                                                      \
  }
PLACE(block, block)
PLACE(uint32_t, x)
PLACE(uint32_t, y)
PLACE(uint32_t, z)
PLACE(uint32_t, t)
PLACE(char*, dynamic)

// Masked execution. Each thread is at a node: a number, and what the thread waits for there.
enum {
  node_kind = 3u << 30, // of a node's number
  at_split = 0u << 30,  // nothing: the thread stopped so that others come as far
  at_warp = 1u << 30,   // the other lanes of its mask
  at_block = 2u << 30,  // the other threads of the block
  at_write = 3u << 30,  // another thread that writes what it reads; never at node 0, the kernel's entry
  ended = 3u << 30
};

// Those of the lanes that are at `node`.
static uint32_t lanes_at(uint32_t node, const uint32_t* nodes, uint32_t lanes) {
  typedef uint32_t all __attribute__((ext_vector_type(xaas_warp_size)));
  typedef _Bool flags __attribute__((ext_vector_type(xaas_warp_size)));
  uint32_t result = 0;
  if (lanes == xaas_warp_size) {
    all at;
    __builtin_memcpy(&at, nodes, sizeof(at));
    const flags same = __builtin_convertvector(at == node, flags);
    __builtin_memcpy(&result, &same, sizeof(result));
    return result;
  }
  for (uint32_t lane = 0; lane < lanes; ++lane)
    result |= (uint32_t)(nodes[lane] == node) << lane;
  return result;
}

// Sets `run` of the lanes of a warp that wait only for lanes which have come or have ended; false if there are
// none. Mostly all lanes wait at one node.
static _Bool schedule_warp(const uint32_t* nodes, const uint32_t* masks, uint8_t* run, uint32_t lanes) {
  const uint32_t gone = lanes_at(ended, nodes, lanes), all = lanes == 32 ? ~0u : (1u << lanes) - 1;
  _Bool any = 0;
  for (uint32_t left = all & ~gone; left;) {
    const uint32_t node = nodes[__builtin_ctz(left)], here = lanes_at(node, nodes, lanes);
    left &= ~here;
    if ((node & node_kind) != at_warp)
      continue;
    const uint32_t away = all & ~(here | gone);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const _Bool runs = (here >> lane & 1) && !(masks[lane] & away);
      run[lane] |= runs;
      any |= runs;
    }
  }
  return any;
}

// Chooses the threads that run next and sets their `run`. `masks`: of threads that wait for lanes. All choices
// are legal orders: a thread runs only if what it waits for has come. Returns which of `Round` (meetings.h) this
// is; with all_at_one_node, all threads run.
uint32_t xaas_schedule(block b, const uint32_t* nodes, const uint32_t* masks, uint8_t* run) {
  enum { all_ended, some, all_at_one_node };
  uint32_t split = 0, warp = 0, barrier = 0, write = 0, with_first = 0;
  for (uint32_t t = 0; t < b->threads; ++t) {
    const uint32_t kind = nodes[t] & node_kind;
    const _Bool waits_for_write = kind == at_write && nodes[t] != ended;
    run[t] = kind == at_split || waits_for_write;
    write += waits_for_write;
    split += kind == at_split;
    warp += kind == at_warp;
    barrier += kind == at_block;
    with_first += nodes[t] == nodes[0];
  }
  if (with_first == b->threads) { // then whatever they wait for has come
    for (uint32_t t = 0; t < b->threads; ++t)
      run[t] = nodes[0] != ended;
    if (write)
      sched_yield();
    return nodes[0] == ended ? all_ended : all_at_one_node;
  }
  // Threads that wait for a write may stop at splits between, and would come back for ever.
  if (split && !write)
    return some;
  _Bool complete = split;
  for (uint32_t first = 0; warp && first < b->threads; first += xaas_warp_size) {
    const uint32_t lanes = b->threads - first < xaas_warp_size ? b->threads - first : xaas_warp_size;
    complete |= schedule_warp(nodes + first, masks + first, run + first, lanes);
  }
  if (complete)
    return some;
  if (write) { // perhaps by another block
    sched_yield();
    return some;
  }
  // Lanes that wait for others which wait at a barrier: the program is wrong, and a GPU would stop.
  for (uint32_t t = 0; t < b->threads; ++t)
    run[t] = (nodes[t] & node_kind) == (warp ? at_warp : at_block);
  return warp || barrier ? some : all_ended;
}
