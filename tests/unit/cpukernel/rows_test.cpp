// Loops over threads that are split, interchanged or shared for speed give the results of plain ones.
#include "cpukernel/testing.h"

namespace xaas::cpukernel {

namespace {

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

// The place of a block often comes from a division. Its bounds are computed before any thread runs, also
// where the division has no result.
TEST_F(CpuKernel, RowsAreSplitBehindDivisions) {
  const auto is_split = [&](const std::string& body) {
    make("extern \"C\" __global__ void k(int* b, const int* a, int n, int w, int first) {" + body + "}");
    llvm::LLVMContext context;
    const auto module = made(context);
    return llvm::any_of(*module,
                        [](const llvm::Function& each) { return each.getName().ends_with(".rest"); });
  };
  EXPECT_TRUE(is_split("int i = blockIdx.x * 16 + threadIdx.x; if (i < w) b[i] = a[i];"));
  EXPECT_TRUE(is_split("int i = blockIdx.x / n * 16 + threadIdx.x; if (i < w) b[i] = a[i];"));
  EXPECT_FALSE(is_split("int i = n / (threadIdx.x + 1) + threadIdx.x; if (i < w) b[i] = a[i];"));
  EXPECT_TRUE(is_split(R"(
    int i = blockIdx.x % n * 16 + threadIdx.x, q = first / n + threadIdx.x;
    if (i < w) { b[i] += a[threadIdx.x] + 1; }
    if (q < w) { b[64 + threadIdx.x] = q; }
  )"));
  EXPECT_EQ(run(R"(
#include <limits.h>
int main(void) {
  static int a[64], b[128], *pa = a, *pb = b + 16, n = 3, w = 40, first = 70;
  void* arguments[] = {&pb, &pa, &n, &w, &first};
  for (int i = 0; i < 64; ++i) a[i] = i * i;
  int bad = 0;
  for (int round = 0; round < 3; ++round) {
    n = round == 0 ? 3 : round == 1 ? 0 : -1;
    first = round == 2 ? INT_MIN : 70;
    int expected[128];
    memcpy(expected, b, sizeof(b));
    for (int x = 0; x < 4; ++x)
      for (int t = 0; t < 16; ++t) {
        int i = (n ? (int)((unsigned)x % (unsigned)n) : -1) * 16 + t;
        int q = (int)((n == 0 ? -1u : n == -1 ? 0u - (unsigned)first : (unsigned)(first / n)) + (unsigned)t);
        if (i < w) expected[16 + i] += a[t] + 1;
        if (q < w) expected[80 + t] = q;
      }
    launch("k", 4, 1, 16, 1, 1, 0, arguments);
    bad += memcmp(expected, b, sizeof(b)) != 0;
  }
  printf("%d", bad);
})"),
            "0");
  // Divisions that no thread comes to; one whose guard is a condition of the row.
  make(R"(
extern "C" __global__ void aside(int* b, const int* a, int n, int w, int shift, int flag) {
  if (flag) { int i = blockIdx.x / n * 16 + (1 << shift) / n + threadIdx.x; if (i < w) b[i] = a[i]; }
}
extern "C" __global__ void guard(int* b, const int* a, uint n, int flag) {
  uint t = threadIdx.x, d = n / (t - 5);
  if (flag) { b[t] = d; if (t & 1) b[t + 64] = d * 3 + a[t]; else b[t + 128] = d + 1; }
  else b[t] = a[t] + 1;
})");
  EXPECT_EQ(run(R"(
int main(void) {
  static int a[64], b[192], *pa = a, *pb = b, n = 0, w = 64, shift = 40, flag = 0, bad = 0;
  void* arguments[] = {&pb, &pa, &n, &w, &shift, &flag};
  launch("aside", 4, 1, 16, 1, 1, 0, arguments);
  for (int i = 0; i < 192; ++i) bad += b[i] != 0;
  n = 1000;
  void* more[] = {&pb, &pa, &n, &flag};
  for (flag = 0; flag < 2; ++flag) {
    launch("guard", 1, 1, 64, 1, 1, 0, more);
    for (unsigned t = 0; t < 64; ++t)
      bad += b[t] != (int)(flag ? t == 5 ? -1u : 1000u / (t - 5) : 1);
  }
  printf("%d %d %d", bad, b[64 + 7], b[128 + 8]);
})"),
            "0 1500 334");
}

// Several conditions that lead to the same code, and limits inside; with conditions that only look like that.
TEST_F(CpuKernel, RowsAreSplitAtConditionsInSeries) {
  auto kernels = make(R"(
extern "C" __global__ void series(const int* a, int* b, int low, int high, int step) {
  int x = threadIdx.x, w = x - 1 < low ? low : x - 1, e = x + 1 > high ? high : x + 1;
  for (int i = 0; i < 2; ++i) {
    bool done = false;
    if (x >= i + 1 && x <= 30 - i && threadIdx.y < 3 && x >= low && x <= high) {
      b[threadIdx.y * 64 + x] += a[w] + 10 * a[x] + 100 * a[e];
      done = true;
    }
    __syncthreads();
    if (done) b[threadIdx.y * 64 + 32 + x] += step;
    __syncthreads();
  }
}
extern "C" __global__ void choice(const int* a, int* b, int low, int high) {
  int x = threadIdx.x, c = 30;
  if (x >= low) { c = a[x]; if (x <= high) { c = 20; b[160 + x] += 4; } }
  b[x] = c;
}
extern "C" __global__ void effect(int* b, int low, int high) {
  int x = threadIdx.x;
  if (x >= low) { b[32 + x] = 5; if (x <= high) { b[192 + x] += 7; } }
}
extern "C" __global__ void divide(int* b, int low, int high, int step) {
  uint x = threadIdx.x, m = x > 1 ? x : 1, q = 600 / m;
  if (step == 2) { if (x < high) b[x] = q; else b[x + 32] = q + x; }
  else { if ((int)x < low) b[x] = 7; }
}
extern "C" __global__ void others(int* b, int low, int high, int step) {
  int x = threadIdx.x;
  if (x >= high || x < low) b[64 + x] = 9;
  if (!(x < low || x > high || x == 7)) b[96 + x] = step;
  for (int i = 0; i < 3; ++i) { if (x >= low) { if (x <= high) b[128 + x] += i + 1; } }
}
)");
  for (const auto& [name, kernel] : kernels)
    EXPECT_EQ(kernel.form, Form::loops) << name;
  const std::string host = R"(
int main(void) {
  static int a[32], b[256], *pa = a, *pb = b, step = 1, bad = 0;
  for (int i = 0; i < 32; ++i) a[i] = i * 7 % 10;
  for (int low = -2; low < 34; low += 3)
    for (int high = -2; high < 34; high += 2) {
      for (int i = 0; i < 256; ++i) b[i] = 0;
      void* arguments[] = {&pa, &pb, &low, &high, &step};
      int inside = low >= 0 && high < 32; // else the limits are no elements
      if (inside) launch("series", 1, 1, 32, 4, 1, 0, arguments);
      for (int y = 0; inside && y < 4; ++y)
        for (int x = 0; x < 32; ++x) {
          int sum = 0, count = 0, w = x - 1 < low ? low : x - 1, e = x + 1 > high ? high : x + 1;
          for (int i = 0; i < 2; ++i)
            if (x >= i + 1 && x <= 30 - i && y < 3 && x >= low && x <= high)
              sum += a[w] + 10 * a[x] + 100 * a[e], ++count;
          bad += b[y * 64 + x] != sum || b[y * 64 + 32 + x] != count;
        }
      for (int i = 0; i < 256; ++i) b[i] = 0;
      launch("choice", 1, 1, 32, 1, 1, 0, arguments);
      void* more[] = {&pb, &low, &high, &step};
      launch("effect", 1, 1, 32, 1, 1, 0, more);
      launch("others", 1, 1, 32, 1, 1, 0, more);
      static int d[64], *pd = d;
      void* division[] = {&pd, &low, &high, &step};
      memset(d, 0, sizeof(d));
      launch("divide", 1, 1, 32, 1, 1, 0, division);
      for (int x = 0; x < 32; ++x) bad += d[x] != (x < low ? 7 : 0);
      for (int x = 0; x < 32; ++x) {
        int from = x >= low, to = x <= high;
        bad += b[x] != (from ? to ? 20 : a[x] : 30) || b[32 + x] != (from ? 5 : 0) || b[64 + x] != (x >= high || !from ? 9 : 0) || b[96 + x] != (from && to && x != 7) ||
               b[128 + x] != (from && to ? 6 : 0) ||
               b[160 + x] != (from && to ? 4 : 0) || b[192 + x] != (from && to ? 7 : 0);
      }
    }
  printf("%d", bad);
})";
  EXPECT_EQ(run(host), "0");
  EXPECT_EQ(run(host, "-O0"), "0"); // a division stays before the branch
}

// What depends on the thread's index and on values that all threads share does not go through memory.
TEST_F(CpuKernel, ConditionsThatCrossAreComputedAgain) {
  auto kernels = make(R"(
extern "C" __global__ void stencil(float* a, int n, int rounds) {
  __shared__ float s[32], r[32];
  int x = threadIdx.x, i = blockIdx.x * 24 + x - 4;
  if (i >= 0 && i < n) s[x] = a[i];
  __syncthreads();
  int low = 4 - (int)blockIdx.x * 24, high = n + 3 - (int)blockIdx.x * 24;
  bool computed;
  for (int k = 0; k < rounds; ++k) {
    computed = false;
    if (x > k && x < 31 - k && x > low && x < high) {
      computed = true;
      r[x] = s[x - 1] + s[x + 1];
    }
    __syncthreads();
    if (k == rounds - 1) break;
    if (computed) s[x] = r[x];
    __syncthreads();
  }
  if (computed) a[n + i] = r[x];
}
extern "C" __global__ void nested(int* a, int n) {
  int x = threadIdx.x, kind = n;
  if (x > 3) {
    for (int k = 0; k < n; ++k) a[x] += k;
    if (x % 5 != n) { a[x] *= 2; kind = x + 1; }
  }
  __syncthreads();
  a[32 + x] = kind;
}
extern "C" __global__ void last(int* a, int n) {
  int x = threadIdx.x, kind = 0;
  for (int k = 0; k < n; ++k) {
    kind = 0;
    if (x + k > 6) { a[x] += k; kind = k + 1; }
  }
  __syncthreads();
  a[32 + x] = kind;
}
)");
  for (const auto& [name, kernel] : kernels)
    EXPECT_EQ(kernel.form, Form::loops) << name;
  EXPECT_EQ(run(R"(
int main(void) {
  static float a[400], *p = a, before[100], after[100];
  static int b[64], *q = b, bad = 0;
  for (int rounds = 1; rounds < 4; ++rounds) {
    int n = 96;
    for (int i = 0; i < 96; ++i) a[i] = before[i] = i * i % 7, a[n + i] = -1;
    void* arguments[] = {&p, &n, &rounds};
    launch("stencil", 4, 1, 32, 1, 1, 0, arguments);
    for (int k = 0; k < rounds; ++k) {
      memcpy(after, before, sizeof(after));
      for (int i = 1; i < n - 1; ++i) after[i] = before[i - 1] + before[i + 1];
      memcpy(before, after, sizeof(after));
    }
    for (int i = 1; i < 95; ++i) bad += a[n + i] != after[i];
  }
  for (int n = 0; n < 4; ++n) {
    memset(b, 0, sizeof(b));
    void* arguments[] = {&q, &n};
    launch("nested", 1, 1, 32, 1, 1, 0, arguments);
    for (int x = 0; x < 32; ++x) {
      int other = x % 5 != n, sum = x > 3 ? n * (n - 1) / 2 : 0;
      bad += b[x] != (other ? 2 : 1) * sum || b[32 + x] != (x > 3 && other ? x + 1 : n);
    }
    launch("last", 1, 1, 32, 1, 1, 0, arguments);
    for (int x = 0; x < 32; ++x) bad += b[32 + x] != (n > 0 && x + n - 1 > 6 ? n : 0);
  }
  printf("%d %u %u", bad, find("stencil")->thread_bytes, find("nested")->thread_bytes);
})"),
            "0 0 0");
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

// The start of the next row is prefetched, where a loop reads rows at a distance.
TEST_F(CpuKernel, RowsArePrefetched) {
  const auto prefetches = [&](const std::string& kernel) {
    make(kernel);
    llvm::LLVMContext context;
    const auto module = made(context);
    const llvm::Function* const prefetch = module->getFunction("llvm.prefetch.p0");
    return prefetch ? prefetch->getNumUses() : 0;
  };
  const std::string start = "int i = blockIdx.x * blockDim.x + threadIdx.x; ";
  // Only a row that is the same each time.
  EXPECT_EQ(prefetches("extern \"C\" __global__ void k(const int* a, int* b, int n) { " + start +
                       "int s = 0; for (int k = 0; k < n; ++k) s += a[i] ^ k; b[i] = s; }"),
            0U);
  EXPECT_EQ(
      prefetches("extern \"C\" __global__ void k(const double* a, const double* b, double* sums, int n) { " +
                 start + R"(
  double sum = 0;
  for (; i < n; i += blockDim.x * gridDim.x) sum += a[i] * b[i];
  __shared__ double s[512];
  s[threadIdx.x] = sum;
  for (int offset = 1; offset < 1; ++offset) __syncthreads();
  sums[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
})"),
      2U);
  EXPECT_EQ(run(R"(
int main(void) {
  enum { n = 10000 };
  static double a[n], b[n], sums[2048], *pa = a, *pb = b, *ps = sums;
  int size = n, bad = 0;
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 2;
  void* arguments[] = {&pa, &pb, &ps, &size};
  launch("k", 4, 1, 512, 1, 1, 0, arguments);
  for (int t = 0; t < 2048; ++t) {
    double sum = 0;
    for (int i = t; i < n; i += 2048) sum += 2.0 * i;
    bad += sums[t] != sum;
  }
  printf("%d", bad);
})"),
            "0");
}

} // namespace

} // namespace xaas::cpukernel
