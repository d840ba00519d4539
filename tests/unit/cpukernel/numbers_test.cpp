// Results of mathematical functions and divisions.
#include "cpukernel/testing.h"

#include <regex>

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

// Exponential functions against the C library's in a wider type, in units of the last place: the least, the
// largest and special arguments, and some between them. All forms give the same bits.
TEST_F(CpuKernel, ExponentialFunctions) {
  const std::pair<const char*, const char*> functions[] = {{"exp", "double"},   {"exp2", "double"},
                                                           {"expf", "float"},   {"exp2f", "float"},
                                                           {"expm1f", "float"}, {"tanhf", "float"}};
  std::string kernels =
      "extern \"C\" __device__ double __nv_exp(double), __nv_exp2(double);\n"
      "extern \"C\" __device__ float __nv_exp2f(float), __nv_expm1f(float), __nv_tanhf(float);\n";
  for (const auto& [name, type] : functions)
    kernels += std::string("extern \"C\" __global__ void k_") + name + "(" + type + "* o, const " + type +
               "* x) { int t = blockIdx.x * blockDim.x + threadIdx.x; o[t] = __nv_" + name + "(x[t]); }\n";
  const std::string host = R"(
#include <math.h>
enum { count = 1 << 16 };
static unsigned long long sum, state = 88172645463325252ull;
static unsigned long long next(void) { return state ^= state << 13, state ^= state >> 7, state ^= state << 17; }
#define CHECK(name, type, bits, reference, digits, smallest, most, low, high) \
  static int check_##name(void) { \
    static type x[count], o[count]; \
    type *px = x, *po = o; \
    const type some[] = {0, -0.0, 1, INFINITY, -INFINITY, NAN, ldexp(1, smallest), -ldexp(1, smallest), low, high, -1e30}; \
    for (int i = 0; i < count; ++i) { \
      const bits random = (bits)next(); \
      memcpy(&x[i], &random, sizeof(random)); \
      if (i % 2) x[i] = low + (high - low) * ((next() >> 11) * 0x1p-53); \
      if (i < 11) x[i] = some[i]; \
    } \
    void* arguments[] = {&po, &px}; \
    launch("k_" #name, count / 64, 1, 64, 1, 1, 0, arguments); \
    int bad = 0; \
    for (int i = 0; i < count; ++i) { \
      const long double exact = reference(x[i]); \
      const type rounded = (type)exact; \
      bits result; \
      memcpy(&result, &o[i], sizeof(result)); \
      sum = (sum ^ (isnan(o[i]) ? 0 : result)) * 1099511628211ull; \
      if (isnan(x[i]) || isinf(rounded)) { bad += isnan(x[i]) ? !isnan(o[i]) : o[i] != rounded; continue; } \
      const int last = rounded == 0 ? smallest : ilogb(rounded) - digits + 1; \
      bad += (o[i] == 0 || rounded == 0) && signbit(o[i]) != signbit(rounded); \
      bad += !(fabsl(o[i] - exact) <= most * ldexpl(1, last < smallest ? smallest : last)); \
    } \
    return bad; \
  }
CHECK(exp, double, unsigned long long, expl, 53, -1074, 1.1, -760.0, 712.0)
CHECK(exp2, double, unsigned long long, exp2l, 53, -1074, 1.1, -1090.0, 1026.0)
CHECK(expf, float, unsigned, expl, 24, -149, 0.51, -110.0f, 90.0f)
CHECK(exp2f, float, unsigned, exp2l, 24, -149, 0.51, -155.0f, 130.0f)
CHECK(expm1f, float, unsigned, expm1l, 24, -149, 0.51, -20.0f, 90.0f)
CHECK(tanhf, float, unsigned, tanhl, 24, -149, 0.51, -10.0f, 10.0f)
int main(void) {
  printf("%d %d ", check_exp(), check_exp2());
  printf("%d %d %d %d ", check_expf(), check_exp2f(), check_expm1f(), check_tanhf());
  printf("%llu", sum);
})";
  const std::string bitcode = compile(kernels);
  for (const std::string& machine : {machine_.best, std::string()}) { // the latter has no fused operations
    std::set<std::string> outputs;
    for (const Options& options : {Options{}, Options{.masked = true}, Options{.fibers = true}}) {
      transform(bitcode, options);
      outputs.insert(run(host, "-O2 " + machine));
    }
    EXPECT_EQ(outputs.size(), 1u) << "the forms differ: " << machine;
    EXPECT_TRUE(outputs.begin()->starts_with("0 0 0 0 0 0 ")) << *outputs.begin();
  }
}

TEST_F(CpuKernel, MathIsThatOfTheHost) {
  make(R"(
extern "C" __device__ float __nv_cosf(float);
extern "C" __global__ void math(float* a) {
  a[threadIdx.x] = __nv_cosf(a[threadIdx.x]) + __nv_sqrtf(4.0f) + __nvvm_sqrt_rn_f(9.0f);
})");
  EXPECT_EQ(run(R"(
int main(void) {
  float a[32] = {0, 1}, *pa = a;
  void* arguments[] = {&pa};
  launch("math", 1, 1, 32, 1, 1, 0, arguments);
  printf("%g %g", a[0], a[1]);
})"),
            "6 5.5403");
}

// Each function that Clang declares of libdevice, but for those for vectors within a word, which CUDA's
// libdevice lacks since version 9.2.
TEST_F(CpuKernel, EveryFunctionOfLibdeviceHasAForm) {
  ASSERT_TRUE(write_file(path("names.cpp"), "#include \"__clang_cuda_libdevice_declares.h\"\n", 0644, false));
  const std::string command = std::string(XAAS_TEST_CLANG) + " -E -P -w -D__device__= -DCUDA_VERSION=13000 " +
                              path("names.cpp").string() + " -o " + path("names").string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string declarations = *read_file(path("names"));
  const std::regex declaration(R"(([a-z][a-z ]*[a-z]) (__nv_\w+)\(([^)]*)\);)");
  std::string kernels;
  size_t count = 0;
  for (std::sregex_iterator each(declarations.begin(), declarations.end(), declaration), end; each != end;
       ++each) {
    const std::string result = (*each)[1], name = (*each)[2], parameters = (*each)[3];
    std::string arguments;
    for (const std::string& parameter : split(parameters, ',')) {
      const std::string type = parameter.substr(0, parameter.rfind("__"));
      arguments +=
          (arguments.empty() ? "" : ", ") + (type.find('*') == std::string::npos
                                                 ? "(" + type + ")in[" + std::to_string(count % 8) + "]"
                                                 : "(" + type + ")more");
    }
    const std::string call = name + "(" + arguments + ")";
    kernels += "extern \"C\" __device__ " + result + " " + name + "(" + parameters + ");\n" +
               "extern \"C\" __global__ void k" + name + "(double* out, const double* in, void* more) { " +
               (result == "void" ? call : "*out = (double)" + call) + "; }\n";
    ++count;
  }
  EXPECT_GT(count, 340u);
  for (const auto& [name, kernel] : make(kernels))
    EXPECT_EQ(kernel.form, Form::loops) << name << ": " << kernel.reason;
}

// Results in each direction are those of the host's modes, for numbers of all sizes, sums that nearly vanish,
// and the limits.
TEST_F(CpuKernel, RoundsInEachDirection) {
  std::string declarations, kernels;
  for (const std::string mode : {"rd", "ru", "rz"}) {
    std::string body;
    int place = 0;
    const auto add = [&](const std::string& type, const std::string& name, const std::string& parameters,
                         const std::string& arguments) {
      declarations +=
          "extern \"C\" __device__ " + type + " __nv_" + name + "_" + mode + "(" + parameters + ");\n";
      body += "  o[" + std::to_string(place++) + "] = __nv_" + name + "_" + mode + "(" + arguments + ");\n";
    };
    add("double", "dadd", "double, double", "x, y");
    add("double", "dsub", "double, double", "x, y");
    add("double", "dmul", "double, double", "x, y");
    add("double", "ddiv", "double, double", "x, y");
    add("double", "drcp", "double", "x");
    add("double", "dsqrt", "double", "x");
    add("double", "fma", "double, double, double", "x, y, z");
    add("double", "ll2double", "long long", "n");
    add("double", "ull2double", "unsigned long long", "(unsigned long long)n");
    add("float", "fadd", "float, float", "f, g");
    add("float", "fsub", "float, float", "f, g");
    add("float", "fmul", "float, float", "f, g");
    add("float", "fdiv", "float, float", "f, g");
    add("float", "frcp", "float", "f");
    add("float", "fsqrt", "float", "f");
    add("float", "fmaf", "float, float, float", "f, g, h");
    add("float", "ll2float", "long long", "n");
    add("float", "ull2float", "unsigned long long", "(unsigned long long)n");
    add("float", "double2float", "double", "x");
    kernels += "extern \"C\" __global__ void " + mode + R"((const double* v, const float* w, double* out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  double x = v[3 * t], y = v[3 * t + 1], z = v[3 * t + 2];
  float f = w[3 * t], g = w[3 * t + 1], h = w[3 * t + 2];
  long long n = __builtin_bit_cast(long long, x);
  double* o = out + 19 * t;
)" + body + "}\n";
  }
  const auto made = make(declarations + kernels);
  for (const auto& [name, kernel] : made)
    EXPECT_EQ(kernel.form, Form::loops) << name << ": " << kernel.reason;
  EXPECT_EQ(run(R"(
#include <fenv.h>
#include <math.h>
#include <stdint.h>
enum { count = 1 << 16, results = 19 };
static double v[3 * count], out[results * count];
static float w[3 * count];
static uint64_t state = 1;
static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}
static double number(int kind) {
  static const double limits[] = {0, -0.0, 1, -1, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023,
                                  INFINITY, -INFINITY, NAN, 0x1.0000000000001p0, 1.5, 3, 0x1p-537, 0x1p512};
  uint64_t bits = next();
  if (kind == 0) return limits[bits % (sizeof(limits) / sizeof(*limits))];
  if (kind == 1) bits &= ~((UINT64_C(1) << next() % 52) - 1);                    // few digits
  if (kind == 2) bits = bits & 0x800fffffffffffff | (next() % 8 + 1020) << 52;    // near 1
  if (kind == 3) bits = bits & 0x800fffffffffffff | (next() % 60) << 52;          // small
  if (kind == 4) bits = bits & 0x800fffffffffffff | (next() % 60 + 1987) << 52;   // large
  double x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}
static float single_number(int kind) {
  static const float limits[] = {0, -0.0f, 1, -1, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f,
                                 INFINITY, -INFINITY, NAN, 0x1.000002p0f, 1.5f, 3, 0x1p-75f, 0x1p64f};
  uint32_t bits = (uint32_t)(next() >> 16);
  if (kind == 0) return limits[bits % (sizeof(limits) / sizeof(*limits))];
  if (kind == 1) bits &= ~((1u << next() % 23) - 1);
  if (kind == 2) bits = bits & 0x807fffff | (uint32_t)(next() % 8 + 124) << 23;
  if (kind == 3) bits = bits & 0x807fffff | (uint32_t)(next() % 30) << 23;
  if (kind == 4) bits = bits & 0x807fffff | (uint32_t)(next() % 30 + 225) << 23;
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}
static const char* const names[] = {"dadd", "dsub", "dmul", "ddiv", "drcp", "dsqrt", "fma", "ll2double", "ull2double",
  "fadd", "fsub", "fmul", "fdiv", "frcp", "fsqrt", "fmaf", "ll2float", "ull2float", "double2float"};
__attribute__((noinline)) static void compute(int i, volatile double* o) {
  volatile double x = v[3 * i], y = v[3 * i + 1], z = v[3 * i + 2];
  volatile float f = w[3 * i], g = w[3 * i + 1], h = w[3 * i + 2], r;
  volatile int64_t n;
  memcpy((void*)&n, &v[3 * i], sizeof(n));
  o[0] = x + y, o[1] = x - y, o[2] = x * y, o[3] = x / y, o[4] = 1 / x, o[5] = sqrt(x), o[6] = fma(x, y, z);
  o[7] = (double)n, o[8] = (double)(uint64_t)n;
  r = f + g, o[9] = r, r = f - g, o[10] = r, r = f * g, o[11] = r, r = f / g, o[12] = r, r = 1 / f, o[13] = r;
  r = sqrtf(f), o[14] = r, r = fmaf(f, g, h), o[15] = r, r = (float)n, o[16] = r, r = (float)(uint64_t)n, o[17] = r;
  r = (float)x, o[18] = r;
}
int main(void) {
  double *pv = v, *po = out;
  float* pw = w;
  void* arguments[] = {&pv, &pw, &po};
  for (int i = 0; i < 3 * count; ++i)
    v[i] = number(next() % 6), w[i] = single_number(next() % 6);
  for (int i = 0; i < count; i += 4) { // results that nearly vanish, or that one number decides
    v[3 * i + 2] = -v[3 * i] * v[3 * i + 1], w[3 * i + 2] = -w[3 * i] * w[3 * i + 1];
    v[3 * i + 4] = -v[3 * i + 3] * (1 + (double)(next() % 3) * 0x1p-52), w[3 * i + 4] = -w[3 * i + 3] * (1 + (float)(next() % 3) * 0x1p-23f);
  }
  static const struct { const char* name; int mode; } modes[] = {{"rd", FE_DOWNWARD}, {"ru", FE_UPWARD}, {"rz", FE_TOWARDZERO}};
  int wrong = 0, differ = 0;
  for (int m = 0; m < 3; ++m) {
    launch(modes[m].name, count / 64, 1, 64, 1, 1, 0, arguments);
    for (int i = 0; i < count; ++i) {
      double expected[results], nearest[results];
      compute(i, nearest);
      fesetround(modes[m].mode);
      compute(i, expected);
      fesetround(FE_TONEAREST);
      for (int k = 0; k < results; ++k) {
        const double is = out[results * i + k];
        differ += expected[k] != nearest[k];
        if ((isnan(expected[k]) ? !isnan(is) : memcmp(&expected[k], &is, sizeof(is)) != 0) && ++wrong <= 10)
          printf("%s_%s(%a %a %a, %a %a %a) = %a, not %a\n", names[k], modes[m].name, v[3 * i], v[3 * i + 1],
                 v[3 * i + 2], w[3 * i], w[3 * i + 1], w[3 * i + 2], is, expected[k]);
      }
    }
  }
  printf("%d wrong%s", wrong, differ > count ? "" : ", and nothing was rounded");
})"),
            "0 wrong");
}

// Inverse functions give back what they are given; Bessel functions have the values of tables.
TEST_F(CpuKernel, MathThatTheCLibraryLacks) {
  make(R"(
extern "C" __device__ double __nv_erfinv(double);
extern "C" __device__ double __nv_erfcinv(double);
extern "C" __device__ double __nv_normcdfinv(double);
extern "C" __device__ double __nv_cyl_bessel_i0(double);
extern "C" __device__ double __nv_cyl_bessel_i1(double);
extern "C" __device__ double __nv_norm(int, const double*);
extern "C" __device__ double __nv_rnorm(int, const double*);
extern "C" __device__ float __nv_rnormf(int, const float*);
extern "C" __device__ unsigned short __nv_float2half_rn(float);
extern "C" __device__ float __nv_half2float(unsigned short);
extern "C" __device__ double __nv_rcp64h(double);
extern "C" __global__ void inverse(const double* x, double* o) {
  int t = threadIdx.x;
  o[3 * t] = __nv_erfinv(x[t]);
  o[3 * t + 1] = __nv_erfcinv(x[t]);
  o[3 * t + 2] = __nv_normcdfinv(x[t]);
}
extern "C" __global__ void bessel(const double* x, double* o) {
  o[2 * threadIdx.x] = __nv_cyl_bessel_i0(x[threadIdx.x]);
  o[2 * threadIdx.x + 1] = __nv_cyl_bessel_i1(x[threadIdx.x]);
}
extern "C" __global__ void others(const double* x, const float* y, double* o) {
  o[0] = __nv_norm(3, x);
  o[1] = __nv_rnormf(3, y);
  o[2] = __nv_float2half_rn(0.3333f);
  o[3] = __nv_half2float(0x3555);
  o[4] = __nv_rcp64h(3);
  o[5] = __nv_erfcinv(5e-324);
  o[6] = __nv_cyl_bessel_i1(-1e308);
  o[7] = __nv_rnorm(2, x + 3);
})");
  EXPECT_EQ(run(R"(
#include <math.h>
int main(void) {
  static double x[64], o[192], *px = x, *po = o;
  void* arguments[] = {&px, &po};
  for (int i = 0; i < 64; ++i) x[i] = i < 32 ? ldexp(1, -10 * i) * 0.9 : 1 - ldexp(1, 20 - i);
  launch("inverse", 1, 1, 64, 1, 1, 0, arguments);
  double largest = 0;
  for (int i = 0; i < 64; ++i) {
    // The inverse function's error, from that of its value and the function's slope.
    const double slope = 1.12837916709551257390, y = o[3 * i], z = o[3 * i + 1], q = o[3 * i + 2] / 1.41421356237309504880;
    if (x[i] < 0.99) largest = fmax(largest, fabs(erf(y) / x[i] - 1));
    else largest = fmax(largest, fabs((erfc(y) - (1 - x[i])) / (slope * exp(-y * y)) / y));
    largest = fmax(largest, fabs((erfc(z) - x[i]) / (slope * exp(-z * z)) / fmax(fabs(z), 0.1)));
    largest = fmax(largest, fabs((erfc(-q) - 2 * x[i]) / (slope * exp(-q * q)) / fmax(fabs(q), 0.1)));
  }
  printf("%s", largest < 5e-15 ? "inverse; " : "");
  if (largest >= 5e-15) printf("off by %g; ", largest);
  x[0] = 0, x[1] = 1, x[2] = -10, x[3] = 100, x[4] = 29.5, x[5] = 700, x[6] = INFINITY;
  launch("bessel", 1, 1, 7, 1, 1, 0, arguments);
  // Abramowitz and Stegun, and for 29.5 both series.
  const double values[] = {1, 0, 1.266065877752008336, 0.565159103992485027, 2815.716628466253833, -2670.988303701254654,
                           1.073751707131073824e42, 1.068369390338162482e42};
  for (int i = 0; i < 8; ++i)
    if (fabs(o[i] - values[i]) > 1e-14 * fabs(values[i])) printf("%d: %.17g; ", i, o[i]);
  printf("%d %d; ", o[10] > 1e300 && o[11] < o[10], isinf(o[12]) && isinf(o[13]));
  float y[] = {1, 2, 2}, *py = y;
  void* more[] = {&px, &py, &po};
  x[0] = 3e300, x[1] = -4e300, x[2] = 0, x[3] = x[4] = 1.7e308;
  launch("others", 1, 1, 1, 1, 1, 0, more);
  printf("%g %.4f %#x %.6f %.9f %.4f %g %.3g", o[0], o[1], (unsigned)o[2], o[3], o[4], o[5], o[6], o[7]);
})"),
            "inverse; 1 1; 5e+300 0.3333 0x3555 0.333252 0.333333254 27.2133 -inf 4.16e-309");
}

} // namespace

} // namespace xaas::cpukernel
