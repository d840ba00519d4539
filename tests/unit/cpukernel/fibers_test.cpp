// Kernels whose threads have stacks of their own or wait for each other, and which kernels these are.
#include "cpukernel/testing.h"

#include <gmock/gmock.h>

namespace xaas::cpukernel {

namespace {

using ::testing::HasSubstr;

// Each of the two functions has a barrier and reads the other threads' values.
TEST_F(CpuKernel, FunctionPointersAndVirtualFunctions) {
  auto kernels = make(R"(
__shared__ int s[64];
__device__ int forward(int a) { s[threadIdx.x] = a; __nvvm_bar_sync(0); return s[(threadIdx.x + 1) % blockDim.x]; }
__device__ int back(int a) { s[threadIdx.x] = a; __nvvm_bar_sync(0); return s[blockDim.x - 1 - threadIdx.x] + 1000; }
__device__ int (*table[])(int) = {forward, back};
extern "C" __global__ void pointer(int* a, int i) {
  __shared__ int own[64];
  own[threadIdx.x] = 5;
  int r = table[i](threadIdx.x + blockIdx.x * 100);
  __nvvm_bar_sync(0);
  a[blockIdx.x * blockDim.x + threadIdx.x] = r + own[threadIdx.x ^ 1] * 10000;
}
struct Shape { __device__ virtual float area() const { return 0; } float w; };
struct Square : Shape { __device__ float area() const override { return w * w; } };
struct Row : Shape { __device__ float area() const override { return w * threadIdx.x; } };
extern "C" __global__ void shapes(float* out) {
  Square square;
  Row row;
  square.w = 3, row.w = 2;
  const Shape* all[] = {&square, &row};
  out[threadIdx.x] = all[threadIdx.x % 2]->area();
}
extern "C" __global__ void good(int* a) { a[threadIdx.x] = 7; }
)");
  EXPECT_EQ(kernels["pointer"].form, Form::fibers);
  EXPECT_THAT(kernels["pointer"].reason, HasSubstr("through a pointer"));
  EXPECT_EQ(kernels["shapes"].form, Form::fibers);
  EXPECT_EQ(kernels["good"].form, Form::loops);
  EXPECT_EQ(run(R"(
int main(void) {
  int a[80], *pa = a, i = 0;
  void* arguments[] = {&pa, &i};
  launch("pointer", 2, 1, 40, 1, 1, 0, arguments);
  printf("%d %d %d ", a[0], a[39], a[41]);
  i = 1;
  launch("pointer", 2, 1, 40, 1, 1, 0, arguments);
  printf("%d %d\n", a[0], a[41]);
  float out[40], *po = out;
  void* second[] = {&po};
  launch("shapes", 1, 1, 40, 1, 1, 0, second);
  printf("%g %g %g", out[0], out[1], out[39]);
})"),
            "50001 50000 50102 51039 51138\n9 2 78");
}

TEST_F(CpuKernel, RecursionWithBarriers) {
  auto kernels = make(R"(
__device__ int fibonacci(int n) { return n < 2 ? n + (threadIdx.x == 3) : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int odd(int n, int* s);
__device__ int even(int n, int* s) { __nvvm_bar_sync(0); s[threadIdx.x] += n; return n == 0 ? s[threadIdx.x] : odd(n - 1, s); }
__device__ int odd(int n, int* s) {
  __nvvm_bar_sync(0);
  int r = s[(threadIdx.x + 1) % 32];
  __nvvm_bar_sync(0);
  s[threadIdx.x] = r;
  return n == 0 ? -1 : even(n - 1, s);
}
extern "C" __global__ void both(int* a) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  a[threadIdx.x] = fibonacci(10) * 1000 + even(4, s);
})");
  EXPECT_EQ(kernels["both"].form, Form::fibers);
  EXPECT_THAT(kernels["both"].reason, HasSubstr("recursive"));
  EXPECT_EQ(run(R"(
int main(void) {
  int a[32], *pa = a;
  void* arguments[] = {&pa};
  launch("both", 1, 1, 32, 1, 1, 0, arguments);
  printf("%d %d %d", a[0], a[3], a[31]);
})"),
            "55008 144011 55007");
}

// Also a lock that is kept over a barrier, and a wait in a function that is called.
TEST_F(CpuKernel, ThreadsThatWaitForEachOther) {
  const std::string source = R"(
extern "C" __global__ void warps(int* a) {
  __shared__ int data[32];
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __nvvm_bar_sync(0);
  if (threadIdx.x < 32) {
    while (flag == 0) ;
    a[threadIdx.x] = data[threadIdx.x];
  } else {
    data[threadIdx.x - 32] = threadIdx.x * 2;
    __nvvm_membar_cta();
    if (threadIdx.x == 63) flag = 1;
  }
}
__device__ void take(int* turn, int own) { while (__nvvm_atom_add_gen_i(turn, 0) != own) ; }
extern "C" __global__ void chain(int* turn, int* a) {
  take(turn, blockDim.x - 1 - threadIdx.x);
  a[threadIdx.x] = a[(threadIdx.x + 1) % (blockDim.x + 1)] + 1;
  __nvvm_membar_gl();
  __nvvm_atom_add_gen_i(turn, 1);
}
extern "C" __global__ void lock(int* mutex, int* a) {
  while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) ;
  *a += threadIdx.x;
  __nvvm_membar_gl();
  __nvvm_atom_xchg_gen_i(mutex, 0);
}
extern "C" __global__ void kept(int* mutex, int* a) {
  if (threadIdx.x % 32 == 0) while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) ;
  __nvvm_bar_warp_sync(~0u);
  *a += 1;
  __nvvm_bar_warp_sync(~0u);
  if (threadIdx.x % 32 == 0) __nvvm_atom_xchg_gen_i(mutex, 0);
}
extern "C" __global__ void update(double* sum) {
  long long *bits = (long long*)sum, old = *bits, seen;
  do {
    seen = old;
    old = __nvvm_atom_cas_gen_ll(bits, seen, __builtin_bit_cast(long long, __builtin_bit_cast(double, seen) + 1));
  } while (seen != old);
}
extern "C" __global__ void again(int* sum) {
  int seen;
  do seen = *sum; while (__nvvm_atom_cas_gen_i(sum, seen, seen + 1) != seen);
}
extern "C" __global__ void bounded(volatile int* stop, int* a) {
  int i = 0;
  while (*stop == 0 && i < 10) ++i;
  while (a[64 + i] != 0) ++i;
  a[threadIdx.x] = i;
}
extern "C" __global__ void relay(volatile int* flag, int* a) {
  int t = threadIdx.x;
  if (t == 0) while (*flag == 0) ;
  else if (t >= 32) {
    int sum = t;
    for (int i = 16; i > 0; i /= 2) sum += __nvvm_shfl_sync_bfly_i32(~0u, sum, i, 31);
    if (t == 40) *flag = sum;
  }
  __nvvm_bar_sync(0);
  a[t] = *flag;
}
extern "C" __global__ void vote(volatile int* flag, int* a) {
  if (threadIdx.x < 32) while (__nvvm_vote_any_sync(~0u, *flag != 7)) ;
  else if (threadIdx.x == 63) *flag = 7;
  a[threadIdx.x] = *flag;
}
// Two threads wait and stop at volatile accesses meanwhile, not in the same rounds.
extern "C" __global__ void phase(volatile int* unused, int* a) {
  __shared__ volatile int f[64];
  int t = threadIdx.x;
  f[t] = 0;
  __nvvm_bar_sync(0);
  if (t < 2) {
    if (t == 1) { f[t] = 1; a[t] += f[t + 2]; }
    f[t] = 2;
    while (f[40] == 0) ;
  } else if (t >= 32) {
    int sum = t;
    for (int i = 16; i > 0; i /= 2) sum += __nvvm_shfl_sync_bfly_i32(~0u, sum, i, 31);
    if (t == 40) f[40] = sum;
  }
  __nvvm_bar_sync(0);
  a[t] = f[40];
}
// A thread stops at the volatile accesses while it has the lock.
__device__ void count_with(int* mutex, volatile int* count) {
  while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) ;
  *count = *count + 1;
  __nvvm_membar_cta();
  __nvvm_atom_xchg_gen_i(mutex, 0);
}
extern "C" __global__ void counts(volatile int* unused, int* a) {
  __shared__ int mutex;
  __shared__ volatile int count;
  if (threadIdx.x == 0) mutex = 0, count = 0;
  __nvvm_bar_sync(0);
  count_with(&mutex, &count);
  __nvvm_bar_sync(0);
  a[threadIdx.x] = count;
}
extern "C" __global__ void counts_and_waits(volatile int* unused, int* a) {
  __shared__ int mutex;
  __shared__ volatile int count;
  if (threadIdx.x == 0) mutex = 0, count = 0;
  __nvvm_bar_sync(0);
  count_with(&mutex, &count);
  while (count != blockDim.x) ;
  a[threadIdx.x] = count;
}
// A thread waits while it has the lock.
extern "C" __global__ void locked(int* mutex, int* a) {
  volatile int* flag = a;
  if (threadIdx.x == 1) *flag = 1;
  while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) ;
  while (*flag == 0) ;
  a[threadIdx.x + 1] = 5;
  __nvvm_atom_xchg_gen_i(mutex, 0);
})";
  auto kernels = make(source);
  EXPECT_EQ(kernels["warps"].form, Form::masked);
  EXPECT_THAT(kernels["warps"].reason, HasSubstr("waits for another"));
  EXPECT_EQ(kernels["chain"].form, Form::masked);
  EXPECT_EQ(kernels["relay"].form, Form::masked);
  EXPECT_EQ(kernels["lock"].form, Form::loops) << kernels["lock"].reason;
  EXPECT_EQ(kernels["kept"].form, Form::masked);
  EXPECT_EQ(kernels["update"].form, Form::loops) << kernels["update"].reason;
  EXPECT_EQ(kernels["again"].form, Form::loops) << kernels["again"].reason;
  EXPECT_EQ(kernels["bounded"].form, Form::loops) << kernels["bounded"].reason;
  const std::string host = R"(
int main(void) {
  int a[200] = {0}, *pa = a, turn = 0, *pt = &turn, mutex = 0, *pm = &mutex, sum = 0, *ps = &sum;
  double d = 0.5, *pd = &d;
  void *last[] = {&ps}, *first[] = {&pa}, *second[] = {&pt, &pa}, *third[] = {&pm, &ps}, *fourth[] = {&pd}, *fifth[] = {&pm, &pa};
  launch("warps", 1, 1, 64, 1, 1, 0, first);
  printf("%d %d ", a[0], a[31]);
  memset(a, 0, sizeof a);
  launch("chain", 1, 1, 100, 1, 1, 0, second);
  printf("%d %d %d ", a[99], a[0], turn);
  launch("lock", 1, 1, 100, 1, 1, 0, third);
  printf("%d ", sum);
  sum = 0;
  launch("kept", 1, 1, 128, 1, 1, 0, third);
  printf("%d ", sum);
  launch("again", 2, 1, 50, 1, 1, 0, last);
  printf("%d ", sum);
  launch("update", 3, 1, 100, 1, 1, 0, fourth);
  memset(a, 0, sizeof a);
  launch("bounded", 1, 1, 64, 1, 1, 0, fifth);
  printf("%g %d ", d, a[63]);
  turn = 0;
  launch("relay", 1, 1, 64, 1, 1, 0, second);
  printf("%d %d ", a[0], a[63]);
  launch("vote", 1, 1, 64, 1, 1, 0, second);
  printf("%d ", a[31]);
  launch("phase", 1, 1, 64, 1, 1, 0, second);
  printf("%d ", a[0]);
  launch("counts", 1, 1, 64, 1, 1, 0, second);
  printf("%d ", a[1]);
  launch("counts_and_waits", 1, 1, 64, 1, 1, 0, second);
  printf("%d ", a[2]);
  memset(a, 0, sizeof a);
  launch("locked", 1, 1, 64, 1, 1, 0, fifth);
  printf("%d", a[64]);
})",
                    result = "64 126 1 100 100 4950 128 228 300.5 10 1520 1520 7 1520 64 64 5";
  EXPECT_EQ(run(host), result);
  make(source, {.fibers = true});
  EXPECT_EQ(run(host), result);
}

// Operations of a warp, also with parts of it that are several operations ahead, and after some threads have
// ended.
TEST_F(CpuKernel, WarpsOnFibers) {
  const std::string source = R"(
extern "C" __global__ void warp(uint* out) {
  uint t = threadIdx.x, lane = t % 32, r = 0;
  int all;
  if (t >= 90) return;
  r = __nvvm_shfl_sync_idx_i32(0xffffffff, t, (lane + 1) % 32, 31);
  if (lane < 16) {
    for (int i = 0; i < 5; ++i) r += __nvvm_shfl_sync_bfly_i32(0x0000ffff, r + i, 1, 31);
    r += __nvvm_vote_ballot_sync(0x0000ffff, r % 3 == 0);
  } else {
    r += __nvvm_redux_sync_add(r, 0xffff0000);
    for (int i = 0; i < 2; ++i) r ^= __nvvm_shfl_sync_bfly_i32(0xffff0000, r, 2, 31);
  }
  __nvvm_bar_warp_sync(0xffffffff);
  r += __nvvm_match_any_sync_i32(0xffffffff, r % 4) + __nvvm_match_all_sync_i32p(0xffffffff, t / 32, &all);
  r += __nvvm_vote_any_sync(0xffffffff, lane == 5) + 2 * __nvvm_vote_all_sync(0xffffffff, lane < 26);
  r += __nvvm_bar0_popc(t % 3 == 0) * 4 + __nvvm_bar0_and(t < 90) * 1000 + __nvvm_bar0_or(t == 89) * 2000;
  out[t] = r;
})";
  const std::string host = R"(
int main(void) {
  static uint32_t out[128], *po = out;
  void* arguments[] = {&po};
  launch("warp", 1, 1, 128, 1, 1, 0, arguments);
  for (int i = 0; i < 96; ++i) printf("%u ", out[i]);
})";
  EXPECT_EQ(make(source, {.fibers = true})["warp"].form, Form::fibers);
  const std::string fibers = run(host);
  EXPECT_EQ(make(source)["warp"].form, Form::masked);
  EXPECT_EQ(run(host), fibers);
}

TEST_F(CpuKernel, BarriersForSomeThreads) {
  auto kernels = make(R"(
extern "C" __global__ void queue(int* out) {
  __shared__ int slot;
  int t = threadIdx.x, sum = 0;
  for (int i = 1; i <= 3; ++i) {
    if (t < 32) {
      if (t == 0) slot = i * 10;
      __nvvm_barrier_sync_cnt(1, 64);
    } else {
      __nvvm_barrier_sync_cnt(1, 64);
      sum += slot;
    }
    __nvvm_bar_sync(0);
  }
  out[t] = sum;
}
extern "C" __global__ void words(int* out) {
  __shared__ int slot[2];
  int t = threadIdx.x;
  if (t < 32) {
    if (t == 0) slot[0] = 7;
    asm volatile("bar.arrive 3, 96;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, %0;" :: "r"(96) : "memory");
    out[t] = slot[0];
  }
})");
  EXPECT_EQ(kernels["queue"].form, Form::fibers);
  EXPECT_EQ(kernels["words"].form, Form::fibers);
  EXPECT_THAT(kernels["queue"].reason, HasSubstr("some of the block's threads"));
  EXPECT_EQ(run(R"(
int main(void) {
  int out[64], *po = out;
  void* arguments[] = {&po};
  launch("queue", 1, 1, 64, 1, 1, 0, arguments);
  printf("%d %d %d ", out[0], out[32], out[63]);
  int more[96] = {0};
  po = more;
  launch("words", 1, 1, 96, 1, 1, 0, arguments);
  printf("%d %d", more[31], more[95]);
})"),
            "0 60 60 0 7");
}

// Sizes that are not known before, dynamic shared memory in functions and kernels, indices in three
// dimensions.
TEST_F(CpuKernel, MemoryOfFibers) {
  auto kernels = make(R"(
struct P { int n, f[3]; };
extern __shared__ int dynamic[];
__device__ int count;
__device__ int place() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__device__ int give(int a) { dynamic[place()] = a; __nvvm_bar_sync(0); return dynamic[(place() + 1) % 24]; }
__device__ int (*pointer)(int) = give;
extern "C" __global__ void each(int* a, P p, int n) {
  __shared__ int fixed[100];
  int* own = (int*)__builtin_alloca(n * sizeof(int));
  for (int i = 0; i < n; ++i) own[i] = p.f[i % 3] + i;
  p.n += place();
  fixed[place()] = pointer(p.n * 100 + threadIdx.z * 10 + threadIdx.y);
  __nvvm_bar_sync(0);
  __nvvm_atom_add_gen_i(&count, 1);
  a[place()] = fixed[23 - place()] + own[n - 1];
})");
  EXPECT_EQ(kernels["each"].form, Form::fibers);
  EXPECT_EQ(run(R"(
int main(void) {
  struct { int n, f[3]; } p = {1, {100000, 200000, 300000}};
  int a[24], *pa = a, n = 1000;
  void* arguments[] = {&pa, &p, &n};
  launch("each", 1, 1, 2, 3, 4, 24 * sizeof(int), arguments);
  launch("each", 1, 1, 2, 3, 4, 24 * sizeof(int), arguments);
  printf("%d %d %d", a[0], a[23], *(int*)variable("count"));
})"),
            "101099 101199 48");
}

// A stack that is too small ends the program; so does a variable that is larger than the page below a stack.
TEST_F(CpuKernel, StacksThatAreTooSmall) {
  make(R"(
__device__ int deep(int n) { volatile int a[50]; a[n % 50] = n + threadIdx.x; return n ? deep(n - 1) + a[n % 50] : a[0]; }
extern "C" __global__ void recursion(int* a, int n) { a[threadIdx.x] = deep(n); }
extern "C" __global__ void large(int* a, int n) {
  char* own = (char*)__builtin_alloca(n);
  __nvvm_bar_sync(0);
  own[0] = 1;
  a[threadIdx.x] = own[threadIdx.x % n];
})");
  const std::string host = R"(
int main(void) {
  static int a[32], *pa = a;
  int n = SIZE;
  void* arguments[] = {&pa, &n};
  launch(NAME, 1, 1, 32, 1, 1, 0, arguments);
  puts("done");
})";
  EXPECT_EQ(run(host, "-O2 -DNAME='\"recursion\"' -DSIZE=100"), "done\n");
  EXPECT_EQ(run(host, "-O2 -DNAME='\"large\"' -DSIZE=30000"), "done\n");
  for (const char* what : {"-DNAME='\"recursion\"' -DSIZE=1000000", "-DNAME='\"large\"' -DSIZE=400000"}) {
    const auto [status, errors] = run_and_fail(host, std::string("-O2 ") + what);
    EXPECT_EQ(status, 128 + SIGSEGV) << what;
    EXPECT_THAT(errors, HasSubstr("more than its 64 KiB of stack")) << what;
  }
}

// What fibers cannot do is refused, and nothing else of the module changes.
TEST_F(CpuKernel, RefusesWhatFibersCannotDo) {
  auto kernels = make(R"(
__device__ int unknown(int);
__device__ int place(int a) { return a + threadIdx.x; }
__device__ int deep(int a) { return unknown(a); }
__device__ float other(float a) { return a + threadIdx.x; }
__device__ int (*table[])(int) = {place, deep};
__device__ float (*others[])(float) = {other};
__device__ float twice(float a) { return a * 2; }
__device__ double half(double a) { return a / 2; }
__device__ double (*alone[])(double) = {half};
extern "C" __global__ void pointer(int* a, int i) { *a = table[i](i); }
extern "C" __global__ void second(float* a, int i) { a[threadIdx.x] = others[i](2); }
extern "C" __global__ void third(double* a, int i) { a[threadIdx.x] = alone[i](a[threadIdx.x]); }
extern "C" __global__ void assembly(int* a) { asm volatile("trap.unknown;"); while (*(volatile int*)a == 0) ; }
)",
                      {.fibers = false});
  EXPECT_EQ(kernels["pointer"].form, Form::refused);
  EXPECT_THAT(kernels["pointer"].reason, HasSubstr("unknown"));
  EXPECT_EQ(kernels["assembly"].form, Form::refused);
  EXPECT_THAT(kernels["assembly"].reason, HasSubstr("trap.unknown"));
  EXPECT_EQ(kernels["second"].form, Form::fibers);
  EXPECT_EQ(kernels["third"].form, Form::loops) << kernels["third"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  float a[40], *pa = a;
  double d[40] = {0, 8}, *pd = d;
  int i = 0;
  void *first[] = {&pa, &i}, *second[] = {&pd, &i};
  launch("second", 1, 1, 40, 1, 1, 0, first);
  launch("third", 1, 1, 40, 1, 1, 0, second);
  printf("%g %g", a[39], d[1]);
})"),
            "41 4");
}

} // namespace

} // namespace xaas::cpukernel
