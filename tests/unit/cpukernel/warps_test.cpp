// Exchanges between the threads of a warp, and their lockstep.
#include "cpukernel/testing.h"

#include <gmock/gmock.h>

namespace xaas::cpukernel {

namespace {

using ::testing::HasSubstr;

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

// Also where the addresses of store and load differ in how they depend on the lane, as in a transposition,
// and in the counters of loops; and no lockstep where there is a barrier, data choose the element, or it is
// the lane's own.
TEST_F(CpuKernel, LockstepOfComputedAddresses) {
  auto kernels = make(R"(
extern "C" __global__ void transposed(int* a, int n) {
  __shared__ int s[8 * 33];
  int t = threadIdx.x;
  if (t >= n) return;
  for (int i = 0; i < 8; ++i) s[i * 33 + t] = a[i * 32 + t];
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum = sum * 3 + s[(t & 7) * 33 + (t & ~7) + i];
  a[t] = sum;
}
extern "C" __global__ void rotated(int* a, int n) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t >= n) return;
  s[t] = a[t];
  a[t] = s[(t + 1) % 32];
}
extern "C" __global__ void tile(int* a, int n) {
  __shared__ int s[32 * 33];
  int x = threadIdx.x, y = threadIdx.y;
  if (x >= n) return;
  for (int i = 0; i < 32; i += 8) s[(y + i) * 33 + x] = a[(y + i) * 32 + x];
  __nvvm_bar_sync(0);
  for (int i = 0; i < 32; i += 8) a[(y + i) * 32 + x] = s[x * 33 + y + i];
}
extern "C" __global__ void histogram(int* a, int n) {
  __shared__ int s[32 * 4];
  int t = threadIdx.x;
  if (t >= n) return;
  for (int i = 0; i < 4; ++i) s[t * 4 + i] = 0;
  for (int i = 0; i < 4; ++i) s[t * 4 + (a[t * 4 + i] & 3)] += 1;
  __nvvm_bar_sync(0);
  a[t] = s[(31 - t) * 4];
}
extern "C" __global__ void buffers(int* a, int n) {
  __shared__ int s[2][32];
  int t = threadIdx.x, now = 0;
  if (t >= n) return;
  s[0][t] = a[t];
  for (int i = 0; i < n - 30; ++i) {
    __nvvm_bar_sync(0);
    s[1 - now][t] = a[i * 32 + t];
    a[t] += s[now][31 - t];
    now = 1 - now;
  }
}
extern "C" __global__ void own(int* a, int n) {
  __shared__ int s[256];
  int x = threadIdx.x, y = threadIdx.y;
  if (x >= n) return;
  s[y * 16 + x] = a[y * 16 + x];
  a[y * 16 + x] = s[y * blockDim.x + x] + 1;
}
extern "C" __global__ void leader(int* a, int n) {
  __shared__ int s[8];
  int t = threadIdx.x;
  if (t >= n) return;
  s[t / 32] = 5;
  a[t] = s[t / 32];
})");
  for (const char* name : {"transposed", "rotated"})
    EXPECT_THAT(kernels[name].reason, HasSubstr("lockstep")) << name;
  for (const char* name : {"tile", "histogram", "buffers", "own", "leader"})
    EXPECT_THAT(kernels[name].reason, testing::Not(HasSubstr("lockstep"))) << name;
  EXPECT_EQ(run(R"(
int main(void) {
  int a[256], b[256], *pa = a, n = 32, wrong = 0;
  for (int i = 0; i < 256; ++i) a[i] = b[i] = i * i % 101;
  void* arguments[] = {&pa, &n};
  launch("transposed", 1, 1, 32, 1, 1, 0, arguments);
  for (int t = 0; t < 32; ++t) {
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum = sum * 3 + b[t % 8 * 32 + t / 8 * 8 + i];
    wrong += a[t] != sum;
  }
  for (int i = 0; i < 32; ++i) a[i] = i;
  launch("rotated", 1, 1, 32, 1, 1, 0, arguments);
  for (int t = 0; t < 32; ++t) wrong += a[t] != (t + 1) % 32;
  printf("%d", wrong);
})"),
            "0");
}

// A value that moves to or from an element that memory chooses, also as a copy of a structure. A thread's own
// elements, and values that do not come from the variable, are no reason.
TEST_F(CpuKernel, LockstepOfValuesThatMove) {
  auto kernels = make(R"(
struct colour { float r, g, b; };
extern "C" __global__ void scattered(colour* a, int* order) {
  __shared__ colour s[32];
  int t = threadIdx.x, to = order[t];
  s[t] = a[t];
  __nvvm_bar_sync(0);
  s[to] = s[t];
  __nvvm_bar_sync(0);
  a[t] = s[t];
}
extern "C" __global__ void gathered(int* a, int* order, int n) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  __nvvm_bar_sync(0);
  if (t < n) s[t] = s[order[t]] + 1;
  __nvvm_bar_sync(0);
  a[t] = s[t];
}
extern "C" __global__ void ranked(int* a, int* order) {
  __shared__ int s[32], key[32];
  int t = threadIdx.x;
  s[t] = a[t];
  key[t] = order[t];
  __nvvm_bar_sync(0);
  s[31 - key[t]] = 3 * s[t];
  __nvvm_bar_sync(0);
  a[t] = s[t];
}
extern "C" __global__ void columns(int* a, int* order) {
  __shared__ int s[4 * 32];
  int t = threadIdx.x;
  for (int i = 0; i < 4; ++i) s[i * 32 + t] = a[t] + i;
  int n = order[t] & 3;
  s[n * 32 + t] = s[t] + s[32 + t];
  __nvvm_bar_sync(0);
  a[t] = s[(t & 3) * 32 + 31 - t];
}
extern "C" __global__ void counted(int* a, int* order) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  __nvvm_bar_sync(0);
  int old = s[t];
  s[order[t]] = t;
  a[t] = old;
  __nvvm_bar_sync(0);
  a[t] += s[t];
}
extern "C" __global__ void waits(int* a, int* order) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  __nvvm_bar_sync(0);
  int old = s[t];
  __nvvm_bar_sync(0);
  s[order[t]] = old;
  __nvvm_bar_sync(0);
  a[t] = s[t];
})");
  EXPECT_EQ(kernels["gathered"].form, Form::masked) << kernels["gathered"].reason;
  for (const char* name : {"scattered", "ranked", "columns", "counted", "waits"})
    EXPECT_EQ(kernels[name].form, Form::loops) << name << ": " << kernels[name].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  struct { float r, g, b; } c[32], *pc = c;
  int a[32], order[32], *pa = a, *po = order, n = 30, wrong = 0;
  for (int i = 0; i < 32; ++i) c[i].r = i, c[i].g = 2 * i, c[i].b = 3 * i, order[i] = (i * 7 + 3) % 32;
  void *of_colours[] = {&pc, &po}, *arguments[] = {&pa, &po, &n};
  launch("scattered", 1, 1, 32, 1, 1, 0, of_colours);
  for (int i = 0; i < 32; ++i) wrong += c[order[i]].r != i || c[order[i]].g != 2 * i || c[order[i]].b != 3 * i;
  for (int i = 0; i < 32; ++i) a[i] = i * i;
  launch("gathered", 1, 1, 32, 1, 1, 0, arguments);
  for (int i = 0; i < 32; ++i) wrong += a[i] != (i < n ? order[i] * order[i] + 1 : i * i);
  for (int i = 0; i < 32; ++i) a[i] = i * i;
  launch("ranked", 1, 1, 32, 1, 1, 0, arguments);
  for (int i = 0; i < 32; ++i) wrong += a[31 - order[i]] != 3 * i * i;
  printf("%d", wrong);
})"),
            "0");
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

// One lane loads what several have stored. Not where a barrier is between, or each lane may load what it has
// stored itself, or what none of them has.
TEST_F(CpuKernel, LockstepOfOneLaneThatGathers) {
  auto kernels = make(R"(
extern "C" __global__ void key(const unsigned char* hex, unsigned char* key, uint* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) key[i] = hex[i] + 1;
  if (threadIdx.x == 0) out[0] = key[0] | key[1] << 8 | key[2] << 16 | key[3] << 24;
}
extern "C" __global__ void sum(const uint* a, uint* out) {
  __shared__ uint s[32];
  s[threadIdx.x] = a[threadIdx.x];
  uint sum = 0;
  if (threadIdx.x == 0) { for (int k = 0; k < 32; ++k) sum += s[k]; out[1] = sum; }
}
extern "C" __global__ void word(const unsigned char* hex, unsigned char* key, uint* out, int n) {
  if (threadIdx.x < 8) key[threadIdx.x] = hex[threadIdx.x] + 1;
  if (threadIdx.x == 0) out[0] += *(uint*)key;
}
extern "C" __global__ void edges(uint* a, uint* out) {
  __shared__ uint s[32];
  s[threadIdx.x] = a[threadIdx.x];
  if (threadIdx.x == 0) out[0] = s[0];
  if (threadIdx.x == 31) out[1] = s[31];
}
extern "C" __global__ void guarded(uint* a, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) if (i >= 2) a[i] = a[i] * a[0] + a[1];
}
extern "C" __global__ void fields(uint* a) {
  __shared__ struct { uint row[16], factor[4]; } s;
  if (threadIdx.x < 4) s.factor[threadIdx.x] = a[32 + threadIdx.x];
  __nvvm_bar_sync(0);
  if (threadIdx.x < 16) s.row[threadIdx.x] = a[threadIdx.x];
  if (threadIdx.x < 9) a[threadIdx.x] = s.factor[0] * 2 + s.factor[1];
}
extern "C" __global__ void arrays(uint* a, uint* out, int n) {
  if (threadIdx.x < 40) { a[threadIdx.x] += 1; a[threadIdx.x + n] += 2; }
  __nvvm_bar_sync(0);
  if (threadIdx.x == 0) out[0] = a[0] + a[1];
}
extern "C" __global__ void waits(uint* a, uint* out) {
  a[threadIdx.x] += 1;
  __nvvm_bar_sync(0);
  if (threadIdx.x == 0) out[2] = a[0] + a[1] + a[31];
}
extern "C" __global__ void first(uint* a, uint* out) {
  a[threadIdx.x] += 1;
  if (threadIdx.x == 0) out[3] = a[0];
}
extern "C" __global__ void header(uint* a, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) a[2 + i] = a[0] * a[1];
}
extern "C" __global__ void grid(uint* a, uint* b) {
  a[blockIdx.x * blockDim.x + threadIdx.x] = 7;
  b[threadIdx.x] = a[0] + a[1];
})");
  for (const char* name : {"key", "sum", "word"})
    EXPECT_THAT(kernels[name].reason, HasSubstr("lockstep")) << name;
  for (const char* name : {"waits", "first", "header", "grid", "edges", "guarded", "fields", "arrays"})
    EXPECT_EQ(kernels[name].form, Form::loops) << name << ": " << kernels[name].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  static unsigned char hex[300], key[300], *ph = hex, *pk = key;
  static unsigned a[320], out[4], *pa = a, *po = out;
  int n = 300;
  for (int i = 0; i < 300; ++i) hex[i] = i + 1, a[i] = i;
  void *of_key[] = {&ph, &pk, &po, &n}, *of_sum[] = {&pa, &po};
  launch("key", 1, 1, 256, 1, 1, 0, of_key);
  launch("sum", 1, 1, 32, 1, 1, 0, of_sum);
  hex[0] = 9;
  launch("word", 1, 1, 32, 1, 1, 0, of_key);
  launch("waits", 1, 1, 32, 1, 1, 0, of_sum);
  launch("first", 1, 1, 32, 1, 1, 0, of_sum);
  printf("%x %u %u %u", out[0], out[1], out[2], out[3]);
})"),
            "a08060c 496 35 2");
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

// Masked threads that are all at one node run in loops that say that they are independent, for rows of any
// length. Threads that end early are the last case.
TEST_F(CpuKernel, MaskedThreadsAtOneNode) {
  auto kernels = make(R"(
extern "C" __global__ void together(const int* a, int* out, int n) {
  __shared__ int s[512];
  int t = threadIdx.x + threadIdx.y * blockDim.x, all = blockDim.x * blockDim.y;
  if (t >= n) return;
  s[t] = a[t] * 3;
  if (a[0] > 0) {
    __nvvm_bar_sync(0);
    out[t] = s[all - 1 - t < n ? all - 1 - t : t] + t;
  }
})",
                      {.masked = true});
  EXPECT_EQ(kernels["together"].form, Form::masked);
  llvm::LLVMContext context;
  std::string text;
  llvm::raw_string_ostream(text) << *made(context);
  EXPECT_NE(text.find("llvm.loop.parallel_accesses"), std::string::npos);
  EXPECT_EQ(run(R"(
int main(void) {
  static int a[512], out[512], *pa = a, *po = out;
  for (int i = 0; i < 512; ++i) a[i] = i + 1;
  static const int sizes[][3] = {{1, 1, 1}, {31, 1, 31}, {33, 2, 66}, {17, 5, 85}, {64, 8, 512}, {64, 8, 301}};
  for (int k = 0; k < 6; ++k) {
    int x = sizes[k][0], y = sizes[k][1], n = sizes[k][2], all = x * y, wrong = 0;
    void* arguments[] = {&pa, &po, &n};
    memset(out, 0, sizeof out);
    launch("together", 1, 1, x, y, 1, 0, arguments);
    for (int t = 0; t < 512; ++t) {
      int other = all - 1 - t < n ? all - 1 - t : t;
      wrong += out[t] != (t < n ? (other + 1) * 3 + t : 0);
    }
    printf("%d", wrong);
  }
})"),
            "000000");
}

} // namespace

} // namespace xaas::cpukernel
