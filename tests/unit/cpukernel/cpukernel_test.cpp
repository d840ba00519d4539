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

// What differs is how a thread leaves the loop, by conditions of which one is the same for all.
TEST_F(CpuKernel, ThreadsLeaveLoopsDifferently) {
  auto kernels = make(R"(
extern "C" __global__ void leave(int* a) {
  uint t = threadIdx.x;
  int found = 0, late = 0;
  for (uint k = 0; k < 4; ++k) {
    if (k > t % 3) { found = 1; break; }
    for (uint j = 0; j < 3; ++j)
      if (j * 2 > t + k) { late = 7; goto end; }
  }
end:
  __nvvm_bar_sync(0);
  a[t] = found * 10 + late;
})");
  EXPECT_EQ(kernels["leave"].form, Form::loops) << kernels["leave"].reason;
  EXPECT_EQ(run(R"(
int main(void) {
  int a[8], *p = a;
  void* arguments[] = {&p};
  launch("leave", 1, 1, 8, 1, 1, 0, arguments);
  for (int i = 0; i < 8; ++i) printf("%d ", a[i]);
})"),
            "7 7 7 7 10 10 10 10 ");
}

// Values that only some threads have. The last thread is none of them.
TEST_F(CpuKernel, OtherThreadsLeaveAValueUndefined) {
  auto kernels = make(R"(
extern "C" __global__ void some(const int* a, int* b, int n) {
  int v;
  if (threadIdx.x < 5) v = a[n];
  v &= 12;
  __nvvm_bar_sync(0);
  if (threadIdx.x < 5) b[threadIdx.x] = v;
}
extern "C" __global__ void all_or_none(const int* a, int* b, int n, int m) {
  int limit, t = threadIdx.x;
  if (m > 0) { limit = a[n]; if (t < 5) b[t] = 0; }
  __nvvm_bar_sync(0);
  b[t + 64] += m;
  if (m > 0) for (int i = 0; i < limit; ++i) { b[t + 32 + i] += 1; __nvvm_bar_sync(0); }
})");
  for (const auto& [name, kernel] : kernels)
    EXPECT_EQ(kernel.form, Form::loops) << name << ": " << kernel.reason;
  EXPECT_EQ(run(R"(
int main(void) {
  int a[4] = {5, 6, 7, 8}, b[8] = {0}, *pa = a, *pb = b, n = 3;
  void* arguments[] = {&pa, &pb, &n};
  launch("some", 1, 1, 32, 1, 1, 0, arguments);
  for (int i = 0; i < 8; ++i) printf("%d ", b[i]);
})"),
            "8 8 8 8 8 0 0 0 ");
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

} // namespace

} // namespace xaas::cpukernel
