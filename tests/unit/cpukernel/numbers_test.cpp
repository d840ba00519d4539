// Results of mathematical functions and divisions.
#include "cpukernel/testing.h"

namespace xaas::cpukernel {

namespace {

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
