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

// Also through a pointer that is one of several.
TEST_F(CpuKernel, LockstepThroughAPointer) {
  auto kernels = make(R"(
extern "C" __global__ void last(int* a, int which) {
  __shared__ int s[32], r[32];
  volatile int* p = which ? s : r;
  int t = threadIdx.x;
  p[t] = a[t];
  __nvvm_bar_sync(0);
  for (int d = 1; d < 32; d *= 2) if (t >= d) p[t] += p[t - d];
  a[t] = p[t];
})");
  EXPECT_EQ(kernels["last"].form, Form::masked);
  EXPECT_EQ(run(R"(
int main(void) {
  int a[32], *pa = a, which = 1;
  for (int i = 0; i < 32; ++i) a[i] = 1;
  void* arguments[] = {&pa, &which};
  launch("last", 1, 1, 32, 1, 1, 0, arguments);
  printf("%d %d", a[9], a[31]);
})"),
            "10 32");
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

// A table of functions that nothing can do stays in the module; a kernel that may call them is refused.
TEST_F(CpuKernel, RefusesWithoutBreakingTheModule) {
  auto kernels = make(R"(
__device__ int unknown(int);
__device__ int deep(int a) { return unknown(a); }
__device__ int (*table[])(int) = {deep};
extern "C" __global__ void pointer(int* a, int i) { *a = table[i](i); }
extern "C" __global__ void through(int* a) { *a = deep(*a); }
extern "C" __global__ void good(int* a) { *a = 7; }
)");
  EXPECT_THAT(kernels["pointer"].reason, HasSubstr("through a pointer"));
  EXPECT_THAT(kernels["through"].reason, HasSubstr("unknown"));
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

// LLVM 22 reads table[i % 8] as table[i] where another index may wrap, without cmake/llvm/wrap_predicate.cpp.
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

// Rules of PTX and of CUDA's mathematical functions for NaN, infinities, limits and zeros.
TEST_F(CpuKernel, MathOfSpecialNumbers) {
  make(R"(
extern "C" __device__ int __nv_double2int_rz(double);
extern "C" __device__ uint __nv_double2uint_rz(double);
extern "C" __device__ int __nv_float2int_rz(float);
extern "C" __device__ long long __nv_float2ll_rz(float);
extern "C" __device__ unsigned long long __nv_double2ull_rn(double);
extern "C" __device__ long long __nv_llrint(double);
extern "C" __device__ float __nv_norm3df(float, float, float);
extern "C" __device__ float __nv_powif(float, int);
extern "C" __device__ double __nv_cospi(double);
extern "C" __global__ void special(long* o, double nan, double infinity) {
  o[0] = __nv_double2int_rz(nan) == -2147483647 - 1;
  o[1] = __nv_double2uint_rz(nan) == 1u << 31;
  o[2] = __nv_float2int_rz((float)nan) == 0;
  o[3] = (unsigned long)__nv_float2ll_rz((float)nan) == 1ul << 63;
  o[4] = __nv_double2ull_rn(nan) == 1ul << 63;
  o[5] = __nv_llrint(infinity) == 0x7fffffffffffffff;
  o[6] = __nv_norm3df((float)infinity, (float)nan, 1) == (float)infinity;
  o[7] = __nv_powif(-1, 16777217) == -1;
  o[8] = 1 / __nv_cospi(0.5) > 0;
})");
  EXPECT_EQ(run(R"(
int main(void) {
  static long o[9], *po = o;
  double nan = __builtin_nan(""), infinity = __builtin_inf();
  void* arguments[] = {&po, &nan, &infinity};
  launch("special", 1, 1, 1, 1, 1, 0, arguments);
  for (int i = 0; i < 9; ++i) printf("%ld", o[i]);
})"),
            "111111111");
}

// Divisions that a CPU does not have: the result is a GPU's, in vectorized loops, too.
TEST_F(CpuKernel, DivisionsWithoutAResult) {
  auto kernels = make(R"(
extern "C" __global__ void divide(const int* x, const int* y, int* o, int w) {
  int t = threadIdx.x;
  o[t] = x[t] / y[t];
  o[t + 64] = x[t] % y[t];
  o[t + 128] = x[t] / w;
  o[t + 192] = (uint)x[t] / (uint)y[t];
  o[t + 256] = (uint)x[t] % (uint)y[t];
  o[t + 320] = (long)x[t] / (long)y[t] == -1;
  o[t + 384] = (short)x[t] / (short)y[t];
  o[t + 448] = x[t] / 3 + x[t] % -1;
})");
  EXPECT_EQ(kernels["divide"].form, Form::loops) << kernels["divide"].reason;
  EXPECT_EQ(
      run(R"(
#include <limits.h>
int main(void) {
  static int x[64], y[64], o[512], *px = x, *py = y, *po = o, w = 0;
  for (int i = 0; i < 64; ++i) x[i] = i * 7, y[i] = i % 4 ? i % 4 : 0;
  x[1] = INT_MIN, y[1] = -1;
  void* arguments[] = {&px, &py, &po, &w};
  launch("divide", 1, 1, 64, 1, 1, 0, arguments);
  for (int k = 0; k < 8; ++k) printf("%d %d %d %d; ", o[k * 64], o[k * 64 + 1], o[k * 64 + 7], o[k * 64 + 60]);
  w = -1;
  launch("divide", 1, 1, 64, 1, 1, 0, arguments);
  printf("%d %d %d", o[128], o[129], o[130]);
})"),
      "-1 -2147483648 16 -1; -1 0 1 -1; -1 -1 -1 -1; -1 0 16 -1; -1 -2147483648 1 -1; 1 0 0 1; -1 0 16 -1; "
      "0 -715827882 16 140; 0 -2147483648 -14");
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
