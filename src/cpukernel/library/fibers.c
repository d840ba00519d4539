// Problem: the threads of a block run the same function, and each has a place of its own in it: also within calls,
// recursion and loops that wait for another thread.
//
//     thread 0:  data = 1; flag = 1;           thread 1:  while (!flag) yield; use(data)
//
// Approach: a fiber for each thread of a block: a stack, and the place in it at which the thread stopped. All run on
// the one thread of the process that runs the block, one at a time, until each comes to a place where it waits:
//
//     xaas_fiber_barrier    for the threads of the block         xaas_fiber_meet    for the lanes of a warp
//     xaas_fiber_yield      for whatever the others do           its end            for nothing
//
// There it picks the next thread that is ready, in ascending order, and switches to its stack. After a barrier of all
// threads the first is next; after most meetings, the first lane of the warp. A thread that has ended leaves its stack
// to the next one that has not begun; so threads that never wait need one stack for all, and no switch.
//
// A thread that has ended counts as one that has come, as in the masked form. If no thread is ready and some have not
// ended, the program is wrong, and a GPU would stop; as in the masked form, those that wait for lanes go on first, then
// those at barriers.
//
// Lanes that meet give a value each. The last one copies all values into a buffer, which each lane reads until it comes
// to the next meeting. A warp has a buffer for each lane: lanes with other masks may be several meetings ahead.
//
// Stacks lie side by side with a page below each that cannot be accessed. Code of kernels touches every page of a large
// frame in turn ("probe-stack"), so a stack that is too small ends the program by a signal and a message.
//
// Rejected: threads of the process, which take microseconds for a switch; ucontext, whose switches are system calls;
// one buffer for two meetings in turn, which is wrong if masks differ; pages below the stacks by mprotect() alone, of
// which a process has few (vm.max_map_count): blocks on 32 CPUs would use them up.
//
// Source: PTX ISA 9.0, "barrier.cta", "bar.warp.sync".
#include "block.h"
#include "stack_switch.h"
#include "system.h"

enum { lanes = xaas_warp_size, warps = xaas_most_threads / lanes, words = xaas_most_threads / 64, barriers = 16 };
enum { most_in_turn = 64 }; // meetings before another warp's turn

struct fiber {
  struct xaas_place place;
  void* stopped;   // where it stopped, on its stack; NULL if it has not begun
  char* stack;     // the top of its stack
  uint32_t mask;   // of the lanes that it waits for
  int buffer;      // of values that it may still read; -1: none
  uint32_t result; // of the barrier at which it waited
};

struct warp {
  uint32_t waiting, ended;        // lanes; those that the warp does not have count as ended
  uint32_t reading;               // lanes of `waiting` that want the values
  uint32_t used, readers[lanes];  // buffers, and the lanes that may still read each
  uint64_t given[lanes];          // the values of lanes that wait
  uint64_t buffers[lanes][lanes];
};

struct barrier {
  uint32_t expected; // threads; 0: all
  uint32_t arrived, waiting, with_true;
  uint64_t threads[words]; // that wait
};

// The fibers of one block after the other.
struct fibers {
  void (*run)(void**);
  void** arguments;
  const struct xaas_block* block;
  uint32_t dynamic; // bytes of shared memory before the dynamic part
  struct fiber* current;
  void* outside; // where the caller of xaas_run_fibers() stopped
  uint32_t live, idle; // threads that have not ended; yields without anything else between them
  uint32_t meetings;   // of warps, which have ended
  uint64_t ready[words];
  struct fiber all[xaas_most_threads];
  struct warp warps[warps];
  struct barrier barriers[barriers];

  char* stacks; // `count` of them: a page that cannot be accessed, then `stack_bytes` that can
  size_t stack_bytes, page;
  uint32_t count, guards, free_count; // guards: pages by mprotect()
  char* free[xaas_most_threads]; // tops of stacks
  struct fibers* next;           // of those that nobody has taken
  int has_alternate;
  char alternate[64 * 1024]; // the stack of the signal handler
};

static _Thread_local struct fibers* mine;

// The same as long as a function runs, since no call leaves its fiber.
__attribute__((const)) const struct xaas_place* xaas_this_fiber(void) { return &mine->current->place; }

// ---- Stacks

static struct {
  pthread_mutex_t mutex;
  struct fibers* left;
  uint32_t guards; // pages by mprotect(), of all
  struct sigaction previous;
  int handles;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void say_overflow(int number, siginfo_t* info, void* context) {
  (void)context;
  const struct fibers* own = mine;
  const size_t step = own ? own->stack_bytes + own->page : 1;
  const size_t offset = own ? (size_t)((char*)info->si_addr - own->stacks) : 0;
  if (own && own->stacks && offset / step < own->count && offset % step < own->page) {
    char text[160];
    const int length =
        snprintf(text, sizeof(text),
                 "xaas: a thread of a kernel needs more than its %zu KiB of stack; XAAS_KERNEL_STACK sets more\n",
                 own->stack_bytes / 1024);
    if (write(2, text, (size_t)length) < 0)
      _exit(128 + number);
  }
  sigaction(number, &pool.previous, NULL); // and again, as if this handler were not there
}

// Makes a page one that no access reaches. Newer kernels do so without a mapping of its own; some systems accept any
// advice and ignore it, so it is tried.
static int guard(char* page, size_t size) {
  enum { install_guard = 102 }; // MADV_GUARD_INSTALL, Linux 6.13
  if (madvise(page, size, install_guard) == 0 && access(page, F_OK) != 0 && errno == EFAULT)
    return 1;
  static uint32_t most; // a quarter of the process's mappings; each page makes two
  if (most == 0) {
    unsigned long all = 65530; // the kernel's default
    FILE* file = fopen("/proc/sys/vm/max_map_count", "re");
    if (file && fscanf(file, "%lu", &all) != 1)
      all = 65530;
    if (file)
      fclose(file);
    most = (uint32_t)(all / 4);
  }
  if (pool.guards >= most || mprotect(page, size, PROT_NONE) != 0)
    return 0;
  ++pool.guards;
  return 2;
}

static void drop_stacks(struct fibers* own) {
  munmap(own->stacks, own->count * (own->stack_bytes + own->page));
  pool.guards -= own->guards;
  own->stacks = NULL;
  own->count = 0;
}

static int make_stacks(struct fibers* own, uint32_t threads, size_t stack_bytes) {
  own->page = (size_t)sysconf(_SC_PAGESIZE);
  stack_bytes = (stack_bytes + own->page - 1) / own->page * own->page;
  if (own->stacks && own->count >= threads && own->stack_bytes == stack_bytes)
    return 1;
  if (own->stacks)
    drop_stacks(own);
  own->stack_bytes = stack_bytes;
  const size_t step = own->stack_bytes + own->page;
  char* memory =
      mmap(NULL, threads * step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return 0;
  own->stacks = memory;
  own->count = threads;
  own->guards = 0;
  for (uint32_t i = 0; i < threads; ++i) {
    const int kind = guard(memory + i * step, own->page);
    own->guards += kind == 2;
    if (kind == 0) {
      drop_stacks(own);
      return 0;
    }
  }
  return 1;
}

// The handler needs a stack that is not the one that has ended.
static void take_alternate(struct fibers* own) {
  stack_t known;
  own->has_alternate = sigaltstack(NULL, &known) == 0 && (known.ss_flags & SS_DISABLE);
  if (own->has_alternate) {
    const stack_t alternate = {.ss_sp = own->alternate, .ss_size = sizeof(own->alternate)};
    sigaltstack(&alternate, NULL);
  }
}

int xaas_take_fibers(uint32_t threads, size_t stack_bytes) {
  pthread_mutex_lock(&pool.mutex);
  struct fibers* own = pool.left;
  if (own)
    pool.left = own->next;
  else
    own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int made = own != MAP_FAILED;
  if (made && !make_stacks(own, threads, stack_bytes)) {
    own->next = pool.left;
    pool.left = own;
    made = 0;
  }
  if (made && !pool.handles) {
    struct sigaction action = {.sa_sigaction = say_overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    pool.handles = sigaction(SIGSEGV, &action, &pool.previous) == 0;
  }
  pthread_mutex_unlock(&pool.mutex);
  if (!made)
    return 0;
  mine = own;
  take_alternate(own);
  return 1;
}

void xaas_give_fibers(void) {
  struct fibers* own = mine;
  if (own->has_alternate) {
    const stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
  }
  mine = NULL;
  pthread_mutex_lock(&pool.mutex);
  own->next = pool.left;
  pool.left = own;
  pthread_mutex_unlock(&pool.mutex);
}

// ---- Which thread is next

static void set_ready(struct fibers* own, uint32_t t) { own->ready[t / 64] |= (uint64_t)1 << t % 64; }
static void set_waiting(struct fibers* own, uint32_t t) { own->ready[t / 64] &= ~((uint64_t)1 << t % 64); }

// The first ready thread from `t` on, else the first of all; -1 if there is none.
static int first_ready(const struct fibers* own, uint32_t t) {
  const uint32_t last = (own->block->threads - 1) / 64;
  uint32_t word = t / 64;
  uint64_t bits = word <= last ? own->ready[word] & ~(uint64_t)0 << t % 64 : 0;
  for (uint32_t i = 0; i <= last + 1; ++i) {
    if (bits)
      return (int)(word * 64 + (uint32_t)__builtin_ctzll(bits));
    word = word < last ? word + 1 : 0;
    bits = own->ready[word];
  }
  return -1;
}

static void release_barrier(struct fibers* own, struct barrier* at) {
  const uint32_t with_true = at->with_true, arrived = at->arrived;
  for (uint32_t word = 0; word < words; ++word)
    for (own->ready[word] |= at->threads[word]; at->threads[word]; at->threads[word] &= at->threads[word] - 1)
      own->all[word * 64 + (uint32_t)__builtin_ctzll(at->threads[word])].result =
          with_true | (with_true == arrived) << 31;
  at->expected = at->arrived = at->waiting = at->with_true = 0;
}

// Lets the lanes go on that wait for `mask`.
static void end_meeting(struct fibers* own, struct warp* warp, uint32_t first, uint32_t mask) {
  uint32_t taking_part = 0;
  for (uint32_t left = warp->waiting; left; left &= left - 1) {
    const uint32_t lane = (uint32_t)__builtin_ctz(left);
    taking_part |= (uint32_t)(own->all[first + lane].mask == mask) << lane;
  }
  const uint32_t readers = taking_part & warp->reading;
  int buffer = -1;
  if (readers) { // one is free: those that take part hold none
    buffer = __builtin_ctz(~warp->used);
    warp->used |= 1u << buffer;
    warp->readers[buffer] = readers;
    for (uint32_t lane = 0; lane < lanes; ++lane)
      warp->buffers[buffer][lane] = readers >> lane & 1 ? warp->given[lane] : 0;
  }
  for (uint32_t left = taking_part; left; left &= left - 1) {
    const uint32_t lane = (uint32_t)__builtin_ctz(left);
    own->all[first + lane].buffer = readers >> lane & 1 ? buffer : -1;
    set_ready(own, first + lane);
  }
  warp->waiting &= ~taking_part;
  warp->reading &= ~taking_part;
}

static int has_met(const struct fibers* own, const struct warp* warp, uint32_t first, uint32_t mask) {
  if (mask & ~(warp->waiting | warp->ended))
    return 0;
  for (uint32_t left = mask & warp->waiting; left; left &= left - 1)
    if (own->all[first + (uint32_t)__builtin_ctz(left)].mask != mask)
      return 0;
  return 1;
}

// No thread is ready, and some have not ended.
static void release_some(struct fibers* own) {
  int any = 0;
  for (uint32_t i = 0; i < warps; ++i)
    while (own->warps[i].waiting) {
      end_meeting(own, &own->warps[i], i * lanes,
                  own->all[i * lanes + (uint32_t)__builtin_ctz(own->warps[i].waiting)].mask);
      any = 1;
    }
  for (uint32_t i = 0; i < barriers && !any; ++i)
    if (own->barriers[i].waiting)
      release_barrier(own, &own->barriers[i]);
}

static struct fiber* choose(struct fibers* own, uint32_t t) {
  int next = first_ready(own, t);
  if (next < 0 && own->live > 0) {
    release_some(own);
    next = first_ready(own, 0);
  }
  return next < 0 ? NULL : &own->all[next];
}

// ---- The threads

static void begin_thread(struct fibers* own, struct fiber* thread, char* stack) {
  const struct xaas_block* block = own->block;
  const uint32_t t = (uint32_t)(thread - own->all), row = t / block->size[0];
  thread->place = (struct xaas_place){.block = block,
                                      .x = t % block->size[0],
                                      .y = row % block->size[1],
                                      .z = row / block->size[1],
                                      .t = t,
                                      .dynamic = block->shared + own->dynamic};
  thread->stack = stack;
  thread->buffer = -1;
}

static uint32_t end_thread(struct fibers* own, struct fiber* thread);

// The first function on every stack: threads that have not begun, one after the other.
static void run_threads(void) {
  struct fibers* own = mine;
  for (;;) {
    own->run(own->arguments);
    struct fiber* ended = own->current;
    struct fiber* next = choose(own, end_thread(own, ended));
    if (!next)
      xaas_switch_stack(&ended->stopped, own->outside);
    own->current = next;
    if (next->stopped) {
      own->free[own->free_count++] = ended->stack;
      xaas_switch_stack(&ended->stopped, next->stopped);
    }
    begin_thread(own, next, ended->stack);
  }
}

// The current thread stops, and the first that is ready from `t` on runs.
static void run_another(struct fibers* own, uint32_t t) {
  struct fiber* self = own->current;
  struct fiber* next = choose(own, t);
  if (next == self)
    return;
  own->current = next;
  if (!next->stopped) {
    begin_thread(own, next, own->free[--own->free_count]);
    next->stopped = new_place(next->stack, run_threads);
  }
  xaas_switch_stack(&self->stopped, next->stopped);
}

// `dynamic`: where dynamic shared memory begins in the block's.
void xaas_run_fibers(void** arguments, const struct xaas_block* block, void (*run)(void**), uint32_t dynamic) {
  struct fibers* own = mine;
  own->run = run;
  own->arguments = arguments;
  own->block = block;
  own->dynamic = dynamic;
  own->live = block->threads;
  own->idle = 0;
  own->free_count = 0;
  memset(own->ready, 0, sizeof(own->ready));
  memset(own->barriers, 0, sizeof(own->barriers));
  for (uint32_t t = block->threads; t-- > 0;) {
    own->all[t].stopped = NULL;
    // Tops lie in other lines of the cache, or few would be there at a time.
    own->free[own->free_count++] = own->stacks + (t + 1) * (own->stack_bytes + own->page) - t % 16 * 192;
    set_ready(own, t);
  }
  for (uint32_t first = 0; first < block->threads; first += lanes) {
    struct warp* warp = &own->warps[first / lanes];
    const uint32_t there = block->threads - first;
    warp->waiting = warp->reading = warp->used = 0;
    warp->ended = there < lanes ? ~0u << there : 0;
  }
  own->current = &own->all[0];
  begin_thread(own, own->current, own->free[--own->free_count]);
  xaas_switch_stack(&own->outside, new_place(own->current->stack, run_threads));
}

// ---- Where threads wait

static void leave_buffer(struct warp* warp, struct fiber* thread) {
  if (thread->buffer < 0)
    return;
  warp->readers[thread->buffer] &= ~(1u << thread->place.t % lanes);
  if (!warp->readers[thread->buffer])
    warp->used &= ~(1u << thread->buffer);
  thread->buffer = -1;
}

static int is_complete(const struct fibers* own, const struct barrier* at) {
  return at->arrived && at->arrived >= (at->expected ? at->expected : own->live);
}

// Returns the thread from which the next one is chosen.
static uint32_t end_thread(struct fibers* own, struct fiber* thread) {
  const uint32_t t = thread->place.t, first = t - t % lanes;
  struct warp* warp = &own->warps[t / lanes];
  set_waiting(own, t);
  --own->live;
  own->idle = 0;
  warp->ended |= 1u << t % lanes;
  leave_buffer(warp, thread);
  for (uint32_t left = warp->waiting; left; left &= left - 1) {
    const uint32_t lane = (uint32_t)__builtin_ctz(left), mask = own->all[first + lane].mask;
    if ((warp->waiting >> lane & 1) && has_met(own, warp, first, mask))
      end_meeting(own, warp, first, mask);
  }
  for (uint32_t i = 0; i < barriers; ++i)
    if (!own->barriers[i].expected && is_complete(own, &own->barriers[i])) {
      release_barrier(own, &own->barriers[i]);
      return 0;
    }
  return t + 1;
}

// A thread comes to a barrier, for `count` threads or, if that is 0, all. Of the predicates of all of them: in how
// many it is true, and in the highest bit whether in all.
static uint32_t arrive(uint32_t number, uint32_t count, uint32_t is_true, int waits) {
  struct fibers* own = mine;
  struct barrier* at = &own->barriers[number % barriers];
  struct fiber* thread = own->current;
  const uint32_t t = thread->place.t;
  own->idle = 0;
  at->expected = count;
  at->with_true += is_true;
  ++at->arrived;
  if (waits) {
    ++at->waiting;
    at->threads[t / 64] |= (uint64_t)1 << t % 64;
    set_waiting(own, t);
  }
  const int complete = is_complete(own, at);
  if (complete)
    release_barrier(own, at);
  if (waits)
    run_another(own, complete && !count ? 0 : t + 1);
  return thread->result;
}
void xaas_fiber_barrier(uint32_t number, uint32_t count) { arrive(number, count, 0, 1); }
void xaas_fiber_arrive(uint32_t number, uint32_t count) { arrive(number, count, 0, 0); }
uint32_t xaas_fiber_reduce(uint32_t number, uint32_t count, uint32_t is_true) {
  return arrive(number, count, is_true, 1);
}

static struct fiber* meet(uint32_t mask, uint64_t value, uint32_t reads) {
  struct fibers* own = mine;
  struct fiber* thread = own->current;
  const uint32_t t = thread->place.t, lane = t % lanes;
  struct warp* warp = &own->warps[t / lanes];
  own->idle = 0;
  leave_buffer(warp, thread);
  thread->mask = mask;
  warp->given[lane] = value;
  warp->waiting |= 1u << lane;
  warp->reading |= reads << lane;
  set_waiting(own, t);
  const int met = has_met(own, warp, t - lane, mask);
  if (met)
    end_meeting(own, warp, t - lane, mask);
  // A warp goes on while what its lanes use is in the cache, but not for ever: it may wait for another one in a loop
  // in which its lanes meet.
  run_another(own, met && ++own->meetings % most_in_turn ? t - lane : t + 1);
  return thread;
}
void xaas_fiber_sync(uint32_t mask) { meet(mask, 0, 0); }
// The values of the lanes, as library/thread.c reads them: for the thread with the number t, at its element t.
const uint64_t* xaas_fiber_meet(uint32_t mask, uint64_t value) {
  const struct fiber* thread = meet(mask, value, 1);
  const uint32_t t = thread->place.t;
  return (const uint64_t*)((uintptr_t)mine->warps[t / lanes].buffers[thread->buffer] -
                           (t - t % lanes) * sizeof(uint64_t));
}

void xaas_fiber_yield(void) {
  struct fibers* own = mine;
  if (++own->idle > 8 * own->live) { // they may wait for other blocks
    own->idle = 0;
    sched_yield();
  }
  run_another(own, own->current->place.t + 1);
}
