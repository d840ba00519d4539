#include "cpukernel/testing.h"

#include <gmock/gmock.h>

namespace xaas::cpukernel {

namespace {

using ::testing::HasSubstr;

TEST_F(CpuKernel, OneRegionBecomesALoop) {
  auto kernels = make(R"(
extern "C" __global__ void triad(float* a, const float* b, float c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i] + c * a[i];
})");
  EXPECT_EQ(kernels["triad"].form, Form::loops);
  EXPECT_EQ(run(R"(
int main(void) {
  float a[1000], b[1000], *pa = a, *pb = b, c = 3;
  int n = 990;
  for (int i = 0; i < 1000; ++i) a[i] = i, b[i] = 1;
  void* arguments[] = {&pa, &pb, &c, &n};
  launch("triad", 8, 1, 128, 1, 1, 0, arguments);
  printf("%g %g %g", a[1], a[989], a[990]);
})"),
            "4 2968 990");
}

TEST_F(CpuKernel, BarriersCutUniformLoops) {
  auto kernels = make(R"(
__device__ void twice(float* s) { s[threadIdx.x] *= 2; __nvvm_bar_sync(0); }
extern "C" __global__ void sum(const float* in, float* out) {
  __shared__ float s[256];
  int own = in[blockIdx.x * blockDim.x + threadIdx.x] * 10;
  s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __nvvm_bar_sync(0);
  for (uint w = blockDim.x / 2; w > 0; w /= 2) {
    if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
    __nvvm_bar_sync(0);
  }
  twice(s);
  if (threadIdx.x == 7) out[blockIdx.x] = s[0] + own;
})");
  EXPECT_EQ(kernels["sum"].form, Form::loops) << kernels["sum"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  float in[1024], out[4], *pi = in, *po = out;
  for (int i = 0; i < 1024; ++i) in[i] = i;
  void* arguments[] = {&pi, &po};
  launch("sum", 4, 1, 256, 1, 1, 0, arguments);
  printf("%g %g", out[0], out[3]);
})"),
            "65350 466246");
}

TEST_F(CpuKernel, DivergentBarriersAreMasked) {
  auto kernels = make(R"(
extern "C" __global__ void early(int* a, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  if (t >= n) return;
  __nvvm_bar_sync(0);
  a[t] = s[63 - t];
  for (int i = 0; i < t % 3; ++i) { __nvvm_bar_sync(0); a[t] += 100; }
})");
  EXPECT_EQ(kernels["early"].form, Form::masked);
  EXPECT_THAT(kernels["early"].reason, HasSubstr("different barriers"));
  EXPECT_EQ(run(R"(
int main(void) {
  int a[64] = {0}, *pa = a, n = 40;
  void* arguments[] = {&pa, &n};
  launch("early", 1, 1, 64, 1, 1, 0, arguments);
  printf("%d %d %d %d", a[0], a[1], a[2], a[40]);
})"),
            "63 162 261 0");
}

TEST_F(CpuKernel, WarpsExchangeValues) {
  auto kernels = make(R"(
extern "C" __global__ void warp(int* a, int* b, float* c) {
  int t = threadIdx.x, v = a[t];
  for (int d = 16; d > 0; d /= 2) v += __nvvm_shfl_sync_down_i32(0xffffffff, v, d, 31);
  b[t] = __nvvm_shfl_sync_idx_i32(0xffffffff, v, 0, 31);
  c[t] = __nvvm_shfl_sync_bfly_f32(0xffffffff, t, 1, 31) + (__nvvm_vote_ballot_sync(0xffffffff, t % 32 < 3) == 7);
})");
  EXPECT_EQ(kernels["warp"].form, Form::loops) << kernels["warp"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  int a[96], b[96], *pa = a, *pb = b;
  float c[96], *pc = c;
  for (int i = 0; i < 96; ++i) a[i] = i;
  void* arguments[] = {&pa, &pb, &pc};
  launch("warp", 1, 1, 96, 1, 1, 0, arguments);
  printf("%d %d %d %g %g", b[0], b[33], b[95], c[0], c[95]);
})"),
            "496 1520 2544 2 95");
}

TEST_F(CpuKernel, WarpsMatchAndAtomicsOfEachScope) {
  auto kernels = make(R"(
extern "C" __global__ void both(uint* a, int* count) {
  int all;
  uint t = threadIdx.x;
  uint same = __nvvm_match_all_sync_i32p(0xffffffff, 7, &all);
  uint other = __nvvm_match_all_sync_i32p(0xffffffff, t / 3, &all);
  a[t] = (same == 0xffffffff) + 2 * other + 4 * all;
  __nvvm_atom_cta_add_gen_i(count, 2);
  __nvvm_atom_sys_max_gen_i(count + 1, t);
  __nvvm_atom_cta_cas_gen_i(count + 2, 0, 9);
})");
  EXPECT_EQ(kernels["both"].form, Form::loops) << kernels["both"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  unsigned a[32], *pa = a;
  int count[3] = {0}, *pc = count;
  void* arguments[] = {&pa, &pc};
  launch("both", 1, 1, 32, 1, 1, 0, arguments);
  printf("%u %u %d %d %d", a[0], a[31], count[0], count[1], count[2]);
})"),
            "1 1 64 31 9");
}

TEST_F(CpuKernel, LockstepOfVolatileSharedMemory) {
  auto kernels = make(R"(
extern "C" __global__ void last(int* a) {
  __shared__ volatile int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __nvvm_bar_sync(0);
  if (t < 32) {
    s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
  }
  if (t == 0) a[0] = s[0];
})");
  EXPECT_EQ(kernels["last"].form, Form::masked);
  EXPECT_THAT(kernels["last"].reason, HasSubstr("lockstep"));
  EXPECT_EQ(run(R"(
int main(void) {
  int a[64], *pa = a;
  for (int i = 0; i < 64; ++i) a[i] = i;
  void* arguments[] = {&pa};
  launch("last", 1, 1, 64, 1, 1, 0, arguments);
  printf("%d", a[0]);
})"),
            "2016");
}

// Also of memory that is not volatile, where the addresses show it; and no lockstep where they are a thread's
// own, or others than its neighbours'.
TEST_F(CpuKernel, LockstepOfNeighbours) {
  auto kernels = make(R"(
template <int offset> __device__ void reduce(double* s) {
  if (offset > 16) __nvvm_bar_sync(0);
  if (threadIdx.x < offset) { s[threadIdx.x] += s[threadIdx.x + offset]; reduce<offset / 2>(s); }
}
template <> __device__ void reduce<0>(double*) {}
extern "C" __global__ void last(double* a) {
  __shared__ double s[64];
  s[threadIdx.x] = a[threadIdx.x];
  reduce<32>(s);
  if (threadIdx.x == 0) a[0] = s[0];
}
extern "C" __global__ void scan(int* a) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  for (int d = 1; d < 32; d *= 2) if (t >= d) s[t] += s[t - d];
  a[t] = s[t];
}
extern "C" __global__ void column(float* a, int n) {
  __shared__ float s[16][16];
  int t = threadIdx.x;
  for (int i = 0; i < 16; ++i) s[i][t] = a[i * 16 + t];
  if (t < n) for (int i = 1; i < 16; ++i) for (int j = 0; j < i; ++j) s[i][t] -= s[j][t];
  __nvvm_bar_sync(0);
  a[t] = s[15][15 - t];
}
extern "C" __global__ void own(int* a, int n) {
  __shared__ int s[32][17];
  int t = threadIdx.x;
  for (int i = 0; i < 17; ++i) s[t][i] = a[t] + i;
  if (t < n) for (int i = 1; i < 17; ++i) s[t][i] += s[t][i - 1] + s[t][16];
  __nvvm_bar_sync(0);
  a[t] = s[31 - t][16];
})");
  EXPECT_EQ(kernels["last"].form, Form::masked);
  EXPECT_THAT(kernels["last"].reason, HasSubstr("lockstep"));
  EXPECT_EQ(kernels["scan"].form, Form::masked);
  EXPECT_EQ(kernels["own"].form, Form::loops) << kernels["own"].reason;
  EXPECT_EQ(kernels["column"].form, Form::loops) << kernels["column"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  double a[64], *pa = a;
  int b[32], *pb = b;
  for (int i = 0; i < 64; ++i) a[i] = i;
  for (int i = 0; i < 32; ++i) b[i] = 1;
  void *first[] = {&pa}, *second[] = {&pb};
  launch("last", 1, 1, 64, 1, 1, 0, first);
  launch("scan", 1, 1, 32, 1, 1, 0, second);
  printf("%g %d %d %d", a[0], b[0], b[9], b[31]);
})"),
            "2016 1 10 32");
}

TEST_F(CpuKernel, VariablesStructuresAndDynamicSharedMemory) {
  auto kernels = make(R"(
struct P { int n; float f[3]; };
__constant__ float factor[2];
__device__ int count;
extern __shared__ float dynamic[];
template <class T> __global__ void each(T* a, P p) {
  T own[4];
  for (int i = 0; i < 4; ++i) own[i] = p.f[i % 3] * factor[i % 2];
  dynamic[threadIdx.x + blockDim.x * threadIdx.y] = own[p.n % 4];
  p.n += threadIdx.x;
  __nvvm_bar_sync(0);
  a[threadIdx.y * blockDim.x + threadIdx.x] = dynamic[threadIdx.y] + own[p.n % 4];
  __nvvm_atom_add_gen_i(&count, 1);
}
template __global__ void each<double>(double*, P);
)");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels.begin()->second.form, Form::loops) << kernels.begin()->second.reason;
  EXPECT_EQ(run(R"(
int main(void) {
  struct { int n; float f[3]; } p = {1, {1, 2, 3}};
  double a[6], *pa = a;
  ((float*)variable("factor"))[0] = 10, ((float*)variable("factor"))[1] = 100;
  void* arguments[] = {&pa, &p};
  launch(")" + kernels.begin()->first +
                R"(", 1, 1, 3, 2, 1, 64, arguments);
  printf("%g %g %g %d %d", a[0], a[1], a[5], *(int*)variable("count"), p.n);
})"),
            "400 230 300 6 1");
}

TEST_F(CpuKernel, RefusesByName) {
  auto kernels = make(R"(
__device__ int unknown(int);
extern "C" __global__ void assembly(int* a) { asm volatile("trap.unknown;"); }
extern "C" __global__ void missing(int* a) { *a = unknown(*a); }
extern "C" __global__ void good(int* a) { *a = 1; }
)");
  EXPECT_EQ(kernels["assembly"].form, Form::refused);
  EXPECT_THAT(kernels["assembly"].reason, HasSubstr("trap.unknown"));
  EXPECT_EQ(kernels["missing"].form, Form::refused);
  EXPECT_THAT(kernels["missing"].reason, HasSubstr("unknown"));
  EXPECT_EQ(kernels["good"].form, Form::loops);
}

// A thread's variable is its own in every region, also where only a stored address leads to it.
TEST_F(CpuKernel, AddressesOfVariablesCross) {
  auto kernels = make(R"(
extern "C" __global__ void cross(int* a, int n) {
  int x[2] = {int(threadIdx.x), 100}, y[2] = {int(threadIdx.x) * 2, 200};
  int* p = a[threadIdx.x] > n ? x : y;
  __nvvm_bar_sync(0);
  p[n] += 1;
  __nvvm_bar_sync(0);
  a[threadIdx.x] = p[0] + p[1];
})");
  EXPECT_EQ(kernels["cross"].form, Form::loops) << kernels["cross"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  int a[8] = {0, 9, 0, 9, 0, 9, 0, 9}, *pa = a, n = 1;
  void* arguments[] = {&pa, &n};
  launch("cross", 1, 1, 8, 1, 1, 0, arguments);
  printf("%d %d %d %d", a[0], a[1], a[6], a[7]);
})"),
            "201 102 213 108");
}

// A table of functions that depend on the thread stays in the module; a kernel that may call them is refused.
TEST_F(CpuKernel, RefusesWithoutBreakingTheModule) {
  auto kernels = make(R"(
__device__ int unknown(int);
__device__ int place(int a) { return a + threadIdx.x; }
__device__ int deep(int a) { return unknown(a); }
__device__ int (*table[])(int) = {place};
extern "C" __global__ void pointer(int* a, int i) { *a = table[i](i); }
extern "C" __global__ void through(int* a) { *a = deep(*a); }
extern "C" __global__ void sized(int* a, int n) { int* b = (int*)__builtin_alloca(n); b[n / 8] = n; *a = b[*a]; }
extern "C" __global__ void good(int* a) { *a = 7; }
)");
  EXPECT_THAT(kernels["pointer"].reason, HasSubstr("through a pointer"));
  EXPECT_THAT(kernels["through"].reason, HasSubstr("unknown"));
  EXPECT_THAT(kernels["sized"].reason, HasSubstr("size is not known"));
  EXPECT_EQ(run(R"(
int main(void) {
  int a = 0, *pa = &a;
  void* arguments[] = {&pa};
  launch("good", 1, 1, 1, 1, 1, 0, arguments);
  printf("%d", a);
})"),
            "7");
}

// Threads of a row for which conditions have one outcome; indices that wrap; guards of loads.
TEST_F(CpuKernel, RowsAreSplit) {
  auto kernels = make(R"(
struct P { int limit[8]; int n; };
extern "C" __global__ void neighbours(const int* a, int* b, P p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n) {
    int w = i == 0 ? i : i - 1, e = i == p.n - 1 ? i : i + 1;
    b[i] = a[w] + 10 * a[i] + 100 * a[e];
  }
}
extern "C" __global__ void wraps(int* b, uint start) {
  uint i = start + threadIdx.x;
  b[threadIdx.x] = i < 10u ? 1 : 2;
}
extern "C" __global__ void guarded(int* b, P p, int g) {
  int t = threadIdx.x;
  b[t] = 1;
  if (g < 8) { if (t < p.limit[g]) b[t] = 2; }
}
)");
  for (const auto& [name, kernel] : kernels)
    EXPECT_EQ(kernel.form, Form::loops) << name;
  EXPECT_EQ(run(R"(
int main(void) {
  static int a[128], b[128], *pa = a, *pb = b;
  struct { int limit[8], n; } p = {{3, 5}, 100};
  int bad = 0, g = 1, far = 1 << 28;
  for (int i = 0; i < 128; ++i) a[i] = i % 10, b[i] = -1;
  void* arguments[] = {&pa, &pb, &p};
  launch("neighbours", 4, 1, 32, 1, 1, 0, arguments);
  for (int i = 0; i < 128; ++i)
    bad += b[i] != (i < 100 ? a[i ? i - 1 : 0] + 10 * a[i] + 100 * a[i < 99 ? i + 1 : 99] : -1);
  unsigned start = -5;
  void* more[] = {&pb, &start};
  launch("wraps", 1, 1, 32, 1, 1, 0, more);
  for (int i = 0; i < 32; ++i) bad += b[i] != ((unsigned)(i - 5) < 10 ? 1 : 2);
  void* some[] = {&pb, &p, &g};
  launch("guarded", 1, 1, 32, 1, 1, 0, some);
  printf("%d %d %d ", bad, b[4], b[5]);
  g = far;
  launch("guarded", 1, 1, 32, 1, 1, 0, some);
  printf("%d", b[0]);
})"),
            "0 2 1 1");
}

// A loop that all threads run contains the loop over the threads; what they keep crosses in arrays.
TEST_F(CpuKernel, LoopsAreInterchanged) {
  auto kernels = make(R"(
__device__ float distance(const float* a, int i, int j, int n, int dimensions) {
  float sum = 0;
  for (int k = 0; k < dimensions; ++k) sum += (a[k * n + i] - a[k * n + j]) * (a[k * n + i] - a[k * n + j]);
  return sum;
}
extern "C" __global__ void nearest(const float* a, float* b, int n, int dimensions) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float least = 1e30f;
  for (int j = 0; j < n; ++j) {
    float d = distance(a, i, j, n, dimensions);
    if (j != i && d < least) least = d;
  }
  b[i] = least;
})");
  EXPECT_EQ(kernels["nearest"].form, Form::loops);
  EXPECT_EQ(run(R"(
int main(void) {
  static float a[400], b[128], *pa = a, *pb = b;
  int n = 100, dimensions = 4, bad = 0;
  for (int i = 0; i < 400; ++i) a[i] = i * 37 % 101;
  void* arguments[] = {&pa, &pb, &n, &dimensions};
  launch("nearest", 4, 1, 32, 1, 1, 0, arguments);
  for (int i = 0; i < n; ++i) {
    float least = 1e30f;
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) sum += (a[k * n + i] - a[k * n + j]) * (a[k * n + i] - a[k * n + j]);
      if (j != i && sum < least) least = sum;
    }
    bad += b[i] != least;
  }
  printf("%d %g", bad, b[100]);
})"),
            "0 0");
}

// Loops over the grid's threads: neighbours differ by one iteration; indices near the limits of their type.
TEST_F(CpuKernel, TripCountsAreShared) {
  auto kernels = make(R"(
extern "C" __global__ void dot(const int* a, const int* b, int* out, int n) {
  __shared__ int s[64];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  s[threadIdx.x] = sum;
  for (uint w = 32; w > 0; w /= 2) {
    __nvvm_bar_sync(0);
    if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void limits(int* out, int start, uint ustart, long n) {
  int count = 0;
  for (int i = start + threadIdx.x; i < 2147483640; i += 7) ++count;
  for (uint i = ustart + threadIdx.x; i <= 4294967290u; i += 3) { if (++count > 90) break; }
  for (long i = threadIdx.x; i < n; i += blockDim.x) count += 1000;
  out[threadIdx.x] = count;
})");
  EXPECT_EQ(kernels["dot"].form, Form::loops);
  EXPECT_EQ(run(R"(
int main(void) {
  static int a[1000], b[1000], out[4], more[64], *pa = a, *pb = b, *po = out, *pm = more;
  int bad = 0;
  for (int i = 0; i < 1000; ++i) a[i] = i % 17, b[i] = i % 5;
  for (int n = 0; n < 1000; n += 37) {
    void* arguments[] = {&pa, &pb, &po, &n};
    launch("dot", 4, 1, 64, 1, 1, 0, arguments);
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    bad += sum != out[0] + out[1] + out[2] + out[3];
  }
  int start = 2147483647 - 60;
  unsigned ustart = 4294967295u - 50;
  for (long n = 0; n < 200; n += 63) {
    void* arguments[] = {&pm, &start, &ustart, &n};
    launch("limits", 1, 1, 32, 1, 1, 0, arguments);
    for (int t = 0; t < 32; ++t) {
      int count = 0;
      for (long i = start + t; i < 2147483640; i += 7) ++count;
      for (unsigned i = ustart + t; i <= 4294967290u; i += 3) { if (++count > 90) break; }
      for (long i = t; i < n; i += 32) count += 1000;
      bad += more[t] != count;
    }
  }
  printf("%d", bad);
})"),
            "0");
}

// What is not done a second time, in a loop over the grid's threads; values that cancel and wrap on the way;
// loads behind a condition.
TEST_F(CpuKernel, LoopsAndRowsKeepTheirEffects) {
  make(R"(
extern "C" __global__ void header(const int* a, int* out, int n) {
  int steps = 0, sum = 0, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (;;) {
    out[threadIdx.x + 100] += 1;
    if (i >= n) break;
    sum += a[i], ++steps, i += blockDim.x * gridDim.x;
  }
  out[threadIdx.x] = sum * 100 + steps;
}
extern "C" __global__ void cancels(int* out, uint n, unsigned long c) {
  uint x = threadIdx.x;
  unsigned long y = (unsigned long)(x + n) - (unsigned long)x;
  out[x] = x < y + c ? 1 : 2;
}
extern "C" __global__ void guarded(const int* p, int* out) {
  out[threadIdx.x] = 5;
  if (p) { if ((int)threadIdx.x < __nvvm_ldg_i(p)) out[threadIdx.x] = 6; }
})");
  EXPECT_EQ(run(R"(
int main(void) {
  static int a[200], out[200], *pa = a, *po = out, *none = 0;
  int n = 150, bad = 0;
  for (int i = 0; i < 200; ++i) a[i] = 1;
  void* first[] = {&pa, &po, &n};
  launch("header", 1, 1, 32, 1, 1, 0, first);
  for (int t = 0; t < 32; ++t) bad += out[t] != ((149 - t) / 32 + 1) * 101 || out[t + 100] != (149 - t) / 32 + 2;
  unsigned m = 0xfffffff0u;
  unsigned long c = -0xffffffd0ul;
  void* second[] = {&po, &m, &c};
  launch("cancels", 1, 1, 64, 1, 1, 0, second);
  for (unsigned x = 0; x < 64; ++x) bad += out[x] != (x < (unsigned long)(x + m) - x + c ? 1 : 2);
  void* third[] = {&none, &po};
  launch("guarded", 1, 1, 32, 1, 1, 0, third);
  printf("%d %d", bad, out[0]);
})"),
            "0 5");
}

// Threads that have ended take no part, whatever the others' values are.
TEST_F(CpuKernel, WarpsWithoutSomeThreads) {
  make(R"(
extern "C" __global__ void some(uint* out) {
  uint t = threadIdx.x;
  int all;
  if (t >= 20) return;
  out[t] = __nvvm_match_any_sync_i32(0xffffffff, 0) == 0xfffff;
  out[t] += 2 * (__nvvm_match_all_sync_i32p(0xffffffff, t % 2 * 5, &all) != 0);
  out[t] += 4 * (__nvvm_match_all_sync_i32p(0xffffffff, 0, &all) == 0xfffff);
  out[t] += 8 * (__nvvm_redux_sync_umin(t + 5, 0xffffffff) == 5) + 16 * (__nvvm_redux_sync_max(-5 - (int)t, 0xffffffff) == -5);
})");
  EXPECT_EQ(run(R"(
int main(void) {
  static unsigned out[64], *po = out;
  void* arguments[] = {&po};
  launch("some", 1, 1, 32, 1, 1, 0, arguments);
  printf("%u %u ", out[0], out[19]);
  launch("some", 1, 1, 20, 1, 1, 0, arguments);
  printf("%u", out[1]);
})"),
            "29 29 29");
}

// Scopes, octal numbers, operands with two names; subnormal and other special numbers.
TEST_F(CpuKernel, InlineAssemblyCorners) {
  auto kernels = make(R"(
extern "C" __global__ void corners(uint* o, uint x) {
  uint r;
  unsigned short h;
  asm("add.u32 %0, %1, 010;" : "=r"(o[0]) : "r"(x));
  asm("{ mov.u32 %0, %1; add.u32 %0, %1, 1; }" : "=r"(r) : "0"(x));
  o[1] = r;
  asm("{ fma.rn.relu.f16 %0, %1, %1, %1; }" : "=h"(h) : "h"((unsigned short)0x7e00));
  o[2] = h;
  asm("add.ftz.f16 %0, %1, %1;" : "=h"(h) : "h"((unsigned short)1));
  o[3] = h;
  asm("{ fma.rn.bf16 %0, %1, %2, %3; }" : "=h"(h) : "h"((unsigned short)0x3f80), "h"((unsigned short)0x4000), "h"((unsigned short)0x3b80));
  o[4] = h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(1.00390625f));
  o[5] = h;
}
extern "C" __global__ void hides(uint* o, uint x) {
  asm("{ .reg .u32 t; mov.u32 t, 100; { .reg .u32 t; mov.u32 t, 5; } add.u32 %0, t, 1; }" : "=r"(o[0]));
}
extern "C" __global__ void divides(uint* o, uint x) {
  asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; mov.u32 %0, 9; @p div.u32 %0, 8, %1; }" : "=r"(o[0]) : "r"(x));
})");
  EXPECT_EQ(kernels["corners"].form, Form::loops) << kernels["corners"].reason;
  EXPECT_EQ(kernels["hides"].form, Form::refused);
  EXPECT_EQ(kernels["divides"].form, Form::refused);
  EXPECT_EQ(run(R"(
int main(void) {
  static unsigned o[6], *po = o;
  unsigned x = 7;
  void* arguments[] = {&po, &x};
  launch("corners", 1, 1, 1, 1, 1, 0, arguments);
  printf("%u %u %d %u %x %x", o[0], o[1], (o[2] & 0x7c00) == 0x7c00 && (o[2] & 0x3ff), o[3], o[4], o[5]);
})"),
            "15 8 1 0 4000 3f80");
}

// LLVM 22 reads table[i % 8] as table[i] where another index may wrap (llvm-project issue 191382).
TEST_F(CpuKernel, LowBitsOfAnIndex) {
  make(R"(
extern "C" __global__ void low(int* o, int* const* head, uint row) {
  uint t = threadIdx.x;
  o[row + t] = (*head)[t % 8] + (*head)[(int)t % 8] + (*head)[(unsigned char)(t * 9) & 15] + (*head)[t << 29 >> 29] +
               (*head)[t - t / 8 * 8] + (*head)[t ^ (t & ~7)];
})");
  EXPECT_EQ(run(R"(
int main(void) {
  static int table[4096], o[256], *p = table, *po = o, **head = &p;
  unsigned row = 0, bad = 0;
  for (int i = 0; i < 4096; ++i) table[i] = i;
  void* arguments[] = {&po, &head, &row};
  launch("low", 1, 1, 256, 1, 1, 0, arguments);
  for (int i = 0; i < 256; ++i) bad += o[i] != i % 8 * 5 + (i * 9 & 15);
  printf("%u", bad);
})"),
            "0");
}

TEST_F(CpuKernel, AddressesOfSharedVariablesInConstants) {
  auto kernels = make(R"(
extern "C" __global__ void local(int* o, int which) {
  __shared__ int a[64], b[64];
  int* table[] = {a, b, a + 1};
  a[threadIdx.x] = 1; b[threadIdx.x] = 20;
  __nvvm_bar_sync(0);
  o[threadIdx.x] = table[which][threadIdx.x] + table[2][0];
})");
  EXPECT_EQ(kernels["local"].form, Form::loops) << kernels["local"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  static int o[32], *po = o;
  int which = 1;
  void* arguments[] = {&po, &which};
  launch("local", 1, 1, 32, 1, 1, 0, arguments);
  printf("%d", o[31]);
})"),
            "21");
}

// Instructions of PTX against the same in C; rounding of conversions at ties and limits.
TEST_F(CpuKernel, InlineAssembly) {
  auto kernels = make(R"(
extern "C" __global__ void assembly(uint* o, const uint* a, const float* f) {
  uint t = threadIdx.x, x = a[t], y = a[t + 1], r;
  unsigned short h, g;
  float s;
  uint* out = o + t * 24;
  // As CUB scans a warp.
  asm volatile("{ .reg .s32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %1, %2, %3, %5; @p add.s32 r0, r0, %4; mov.s32 %0, r0; }"
      : "=r"(r) : "r"(t), "r"(1), "r"(0), "r"(t), "r"(-1));
  if (r != (t == 0 ? 0 : 2 * t - 1)) o[32 * 24 + 3] = 1;
  asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 28; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(r) : "r"(t));
  if (r != 7u << 29) o[32 * 24 + 3] = 1;
  asm volatile("atom.add.relaxed.gpu.global.u32 %0, [%1], %2;" : "=r"(r) : "l"(o + 32 * 24), "r"(2) : "memory");
  asm volatile("red.max.s32 [%0], %1;" ::"l"(o + 32 * 24 + 1), "r"(t) : "memory");
  asm volatile("atom.cas.b32 %0, [%1], 0, 9;" : "=r"(r) : "l"(o + 32 * 24 + 2) : "memory");
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(t));
  if (r != (t ? 31 - __builtin_clz(t) : ~0u)) o[32 * 24 + 3] = 1;
  asm("add.u32 %0, %1, %2;" : "=r"(out[0]) : "r"(x), "r"(y));
  asm("{ .reg .b32 q; mul.hi.u32 q, %1, %2; xor.b32 %0, q, -1; }" : "=r"(out[1]) : "r"(x), "r"(y));
  asm("lop3.b32 %0, %1, %2, 255, 0xe8;" : "=r"(out[2]) : "r"(x), "r"(y));
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(out[3]) : "r"(x), "r"(y), "r"(t));
  asm("bfe.s32 %0, %1, 5, 7;" : "=r"(out[4]) : "r"(x));
  asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(out[5]) : "r"(x), "r"(y));
  asm("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.b32 %0, 1, 2, p; @p add.s32 %0, %0, 10; }" : "=r"(out[6]) : "r"(x), "r"(y));
  asm("mov.b32 {%0, %1}, %2;" : "=h"(h), "=h"(g) : "r"(x));
  out[7] = h * 3u + g;
  asm("shl.b32 %0, %1, %2;" : "=r"(out[8]) : "r"(x), "r"(t * 8));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f[t]));
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(g) : "f"(f[t]));
  out[9] = h | g << 16;
  asm("cvt.f32.f16 %0, %1;" : "=f"(s) : "h"(h));
  out[10] = (uint)s;
  asm("cvt.rp.f16.f32 %0, %1;" : "=h"(h) : "f"(f[t]));
  asm("cvt.rm.f16.f32 %0, %1;" : "=h"(g) : "f"(f[t]));
  out[11] = h | g << 16;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(out[12]) : "f"(f[t]));
  asm("{ cvt.rn.f16x2.f32 %0, %2, %1; }" : "=r"(r) : "f"(f[t]), "f"(2.0f));
  asm("{ fma.rn.f16x2 %0, %1, %1, %1; }" : "=r"(out[13]) : "r"(r));
  asm("mov.u32 %0, %%laneid;" : "=r"(out[14]));
  asm("{ mov.u32 %0, WARP_SZ; }" : "=r"(out[15]));
  asm volatile("ld.global.cg.u32 %0, [%1+4];" : "=r"(out[16]) : "l"(a + t));
  asm volatile("st.global.wt.u32 [%0], %1;" ::"l"(out + 17), "r"(t + 5) : "memory");
  asm("max.f32 %0, %1, %2;" : "=f"(s) : "f"(__builtin_nanf("")), "f"(3.0f));
  out[18] = (uint)s;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(out[19]) : "r"(x), "r"(y), "r"(7));
  asm("{ add.f32 %0, %0, %1; }" : "+f"(s) : "f"(1.5f));
  out[20] = (uint)(s * 2);
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(out[21]) : "r"(t));
  asm("set.gt.f32.f32 %0, %1, %2;" : "=r"(out[22]) : "f"(f[t]), "f"(1.0f));
  asm("add.ftz.f32 %0, %1, %2;" : "=f"(s) : "f"(1e-39f), "f"(1e-39f));
  out[23] = s == 0;
})");
  EXPECT_EQ(kernels["assembly"].form, Form::loops) << kernels["assembly"].reason;
  EXPECT_EQ(run(R"(
#include <math.h>
static uint32_t half(float x) { _Float16 h = (_Float16)x; uint16_t b; memcpy(&b, &h, 2); return b; }
static float whole(uint32_t h) { uint16_t b = h; _Float16 f; memcpy(&f, &b, 2); return f; }
static uint32_t zero(float x) { uint32_t h = half(x); return fabsf(whole(h)) > fabsf(x) ? h - 1 : h; }
#define CHECK(n, should) if (o[t * 24 + n] != (uint32_t)(should)) printf("%d of %u: %x, not %x; ", n, t, o[t * 24 + n], (uint32_t)(should))
int main(void) {
  static uint32_t a[34], o[33 * 24], *pa = a, *po = o;
  static float f[32] = {0, 1, 2049, 2051, -2049, 65504, 65519, 65520, 1e9f, -1e9f, 1e-8f, -1e-8f, 6e-8f, 0.5f, 1.5f, 2.5f};
  float* pf = f;
  for (int i = 0; i < 34; ++i) a[i] = i * 2654435761u + 12345;
  for (int i = 16; i < 32; ++i) f[i] = (i - 20) * 0.3337f;
  void* arguments[] = {&po, &pa, &pf};
  launch("assembly", 1, 1, 32, 1, 1, 0, arguments);
  if (o[32 * 24] != 64 || o[32 * 24 + 1] != 31 || o[32 * 24 + 2] != 9 || o[32 * 24 + 3]) printf("atomic; ");
  for (unsigned t = 0; t < 32; ++t) {
    const uint32_t x = a[t], y = a[t + 1];
    CHECK(0, x + y);
    CHECK(1, ~(uint32_t)((uint64_t)x * y >> 32));
    CHECK(2, (x & y) | (x & 255) | (y & 255));
    CHECK(3, ((((uint64_t)y << 32 | x) << (t & 31)) >> 32));
    CHECK(4, (int32_t)(x << 20) >> 25);
    CHECK(5, (y & ~0xfff00u) | (x << 8 & 0xfff00));
    CHECK(6, (int32_t)x < (int32_t)y ? 11 : 2);
    CHECK(7, (x & 65535) * 3 + (x >> 16));
    CHECK(8, t * 8 > 31 ? 0 : x << t * 8);
    const uint32_t h = half(f[t]);
    CHECK(9, h | zero(f[t]) << 16);
    if (whole(h) >= 0) CHECK(10, isinf(whole(h)) ? o[t * 24 + 10] : (uint32_t)whole(h));
    CHECK(12, f[t] >= 2147483648.0f ? INT32_MAX : (int32_t)rintf(f[t]));
    const float up = whole(o[t * 24 + 11] & 65535), down = whole(o[t * 24 + 11] >> 16);
    if (!(up >= f[t] && down <= f[t]) || half(up) != (o[t * 24 + 11] & 65535)) printf("11 of %u; ", t);
    const double d = whole(h);
    CHECK(13, half((float)(d * d + d)) | half(6) << 16);
    CHECK(14, t);
    CHECK(15, 32);
    CHECK(16, y);
    CHECK(17, t + 5);
    CHECK(18, 3);
    uint32_t sum = 7;
    for (int k = 0; k < 4; ++k) sum += (x >> 8 * k & 255) * (int8_t)(y >> 8 * k);
    CHECK(19, sum);
    CHECK(20, 9);
    CHECK(21, t ^ 1);
    CHECK(22, f[t] > 1 ? 0x3f800000 : 0);
    CHECK(23, 1);
  }
})",
                "-O2 -march=native -ffp-contract=off"),
            "");
}

TEST_F(CpuKernel, MathIsThatOfTheHost) {
  make(R"(
extern "C" __global__ void math(float* a) {
  a[threadIdx.x] = __nv_expf(a[threadIdx.x]) + __nv_sqrtf(4.0f) + __nvvm_sqrt_rn_f(9.0f);
})");
  EXPECT_EQ(run(R"(
int main(void) {
  float a[32] = {0, 1}, *pa = a;
  void* arguments[] = {&pa};
  launch("math", 1, 1, 32, 1, 1, 0, arguments);
  printf("%g %g", a[0], a[1]);
})"),
            "6 7.71828");
}

} // namespace

} // namespace xaas::cpukernel
