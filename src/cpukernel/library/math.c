// Problem: device code calls NVIDIA's libdevice (`__nv_expf`) and intrinsics of LLVM's NVPTX back end
// (`llvm.nvvm.sqrt.rn.f`). libdevice itself is written for GPUs: its exponential function ends in PTX's
// ex2.approx.
//
// Approach: a function here for each that does the same with what a CPU has. Functions of the C library are
// called through builtins, so that they become LLVM's intrinsics, which LLVM knows. The file is compiled to
// IR with the project and linked into each device module, where all of it is inlined. With exponential.h,
// rounding.h and special.h, it is the whole table: what they do not define is refused by name.
//
//     __nv_sinf(x)               sinf(x), as llvm.sin.f32
//     llvm.nvvm.sqrt.rn.f(x)     xaas_nvvm_sqrt_rn_f(x): sqrtf(x)
//
// Fast variants (`__expf`) are the accurate functions.
#include "exponential.h"
#include "rounding.h"
#include "special.h"
#include <stdint.h>

// Functions of the C library under the same name, in both precisions.
#define ONE(name)                                                                                            \
  INLINE double __nv_##name(double x) { return __builtin_##name(x); }                                        \
  INLINE float __nv_##name##f(float x) { return __builtin_##name##f(x); }
ONE(acos)
ONE(acosh)
ONE(asin)
ONE(asinh)
ONE(atan)
ONE(atanh)
ONE(cbrt)
ONE(ceil)
ONE(cos)
ONE(cosh)
ONE(erf)
ONE(erfc)
ONE(exp10)
ONE(fabs)
ONE(floor)
ONE(lgamma)
ONE(log)
ONE(log10)
ONE(log1p)
ONE(log2)
ONE(logb)
ONE(nearbyint)
ONE(rint)
ONE(round)
ONE(sin)
ONE(sinh)
ONE(sqrt)
ONE(tan)
ONE(tgamma)
ONE(trunc)

#define TWO(name)                                                                                            \
  INLINE double __nv_##name(double x, double y) { return __builtin_##name(x, y); }                           \
  INLINE float __nv_##name##f(float x, float y) { return __builtin_##name##f(x, y); }
TWO(atan2)
TWO(copysign)
TWO(fdim)
TWO(fmax)
TWO(fmin)
TWO(fmod)
TWO(hypot)
TWO(nextafter)
TWO(pow)
TWO(remainder)

INLINE double __nv_exp(double x) { return branchless_exp(x); }
INLINE float __nv_expf(float x) { return branchless_expf(x); }
INLINE double __nv_exp2(double x) { return branchless_exp2(x); }
INLINE float __nv_exp2f(float x) { return branchless_exp2f(x); }
INLINE double __nv_expm1(double x) { return __builtin_expm1(x); }
INLINE float __nv_expm1f(float x) { return branchless_expm1f(x); }
INLINE double __nv_tanh(double x) { return __builtin_tanh(x); }
INLINE float __nv_tanhf(float x) { return branchless_tanhf(x); }
INLINE double __nv_fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
INLINE float __nv_fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
INLINE double __nv_ldexp(double x, int e) { return __builtin_ldexp(x, e); }
INLINE float __nv_ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
INLINE double __nv_scalbn(double x, int e) { return __builtin_scalbn(x, e); }
INLINE float __nv_scalbnf(float x, int e) { return __builtin_scalbnf(x, e); }
INLINE double __nv_frexp(double x, int* e) { return __builtin_frexp(x, e); }
INLINE float __nv_frexpf(float x, int* e) { return __builtin_frexpf(x, e); }
INLINE double __nv_modf(double x, double* part) { return __builtin_modf(x, part); }
INLINE float __nv_modff(float x, float* part) { return __builtin_modff(x, part); }
INLINE double __nv_remquo(double x, double y, int* quotient) { return __builtin_remquo(x, y, quotient); }
INLINE float __nv_remquof(float x, float y, int* quotient) { return __builtin_remquof(x, y, quotient); }
INLINE int __nv_ilogb(double x) { return __builtin_ilogb(x); }
INLINE int __nv_ilogbf(float x) { return __builtin_ilogbf(x); }
INLINE double __nv_powi(double x, int n) { return __builtin_pow(x, n); }
INLINE float __nv_powif(float x, int n) { return (float)__builtin_pow(x, n); }
INLINE long long __nv_llround(double x) { return __builtin_llround(x); }
INLINE long long __nv_llroundf(float x) { return __builtin_llroundf(x); }
INLINE void __nv_sincos(double x, double* s, double* c) {
  *s = __builtin_sin(x);
  *c = __builtin_cos(x);
}
INLINE void __nv_sincosf(float x, float* s, float* c) {
  *s = __builtin_sinf(x);
  *c = __builtin_cosf(x);
}

double j0(double), j1(double), jn(int, double), y0(double), y1(double), yn(int, double);
float j0f(float), j1f(float), jnf(int, float), y0f(float), y1f(float), ynf(int, float);
INLINE double __nv_j0(double x) { return j0(x); }
INLINE double __nv_j1(double x) { return j1(x); }
INLINE double __nv_jn(int n, double x) { return jn(n, x); }
INLINE double __nv_y0(double x) { return y0(x); }
INLINE double __nv_y1(double x) { return y1(x); }
INLINE double __nv_yn(int n, double x) { return yn(n, x); }
INLINE float __nv_j0f(float x) { return j0f(x); }
INLINE float __nv_j1f(float x) { return j1f(x); }
INLINE float __nv_jnf(int n, float x) { return jnf(n, x); }
INLINE float __nv_y0f(float x) { return y0f(x); }
INLINE float __nv_y1f(float x) { return y1f(x); }
INLINE float __nv_ynf(int n, float x) { return ynf(n, x); }

// Functions that the C library lacks. Those in single precision compute in double precision.
#define PI 3.14159265358979323846
static INLINE double reduced_pi(double x, int* half) { // x = n/2 + r, |r| <= 1/4; sin and cos of pi r follow
  const double n = __builtin_rint(2 * x);
  *half = (int)(__builtin_fmod(n, 4) + 4) & 3;
  return (x - 0.5 * n) * PI;
}
INLINE double __nv_sinpi(double x) {
  int half;
  const double r = reduced_pi(x, &half);
  const double value = half & 1 ? __builtin_cos(r) : __builtin_sin(r);
  return x != x || __builtin_isinf(x) ? x - x : half & 2 ? -value : value;
}
INLINE double __nv_cospi(double x) {
  int half;
  const double r = reduced_pi(x, &half);
  const double value = half & 1 ? __builtin_sin(r) : __builtin_cos(r);
  const double result = (half == 1 || half == 2) ? -value : value;
  return x != x || __builtin_isinf(x) ? x - x : result + 0.0; // 0 has no sign
}
INLINE float __nv_sinpif(float x) { return (float)__nv_sinpi(x); }
INLINE float __nv_cospif(float x) { return (float)__nv_cospi(x); }
INLINE void __nv_sincospi(double x, double* s, double* c) {
  *s = __nv_sinpi(x);
  *c = __nv_cospi(x);
}
INLINE void __nv_sincospif(float x, float* s, float* c) {
  *s = __nv_sinpif(x);
  *c = __nv_cospif(x);
}
INLINE double __nv_rsqrt(double x) { return 1 / __builtin_sqrt(x); }
INLINE float __nv_rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
INLINE double __nv_rcbrt(double x) { return 1 / __builtin_cbrt(x); }
INLINE float __nv_rcbrtf(float x) { return (float)(1 / __builtin_cbrt(x)); }
INLINE double __nv_rhypot(double x, double y) { return 1 / __builtin_hypot(x, y); }
INLINE float __nv_rhypotf(float x, float y) { return (float)(1 / __builtin_hypot(x, y)); }
INLINE double __nv_norm3d(double x, double y, double z) { return length(3, (double[]){x, y, z}, 0); }
INLINE double __nv_norm4d(double x, double y, double z, double w) { return length(4, (double[]){x, y, z, w}, 0); }
INLINE double __nv_rnorm3d(double x, double y, double z) { return length(3, (double[]){x, y, z}, 1); }
INLINE double __nv_rnorm4d(double x, double y, double z, double w) { return length(4, (double[]){x, y, z, w}, 1); }
INLINE float __nv_norm3df(float x, float y, float z) { return __nv_normf(3, (float[]){x, y, z}); }
INLINE float __nv_norm4df(float x, float y, float z, float w) { return __nv_normf(4, (float[]){x, y, z, w}); }
INLINE float __nv_rnorm3df(float x, float y, float z) { return __nv_rnormf(3, (float[]){x, y, z}); }
INLINE float __nv_rnorm4df(float x, float y, float z, float w) { return __nv_rnormf(4, (float[]){x, y, z, w}); }
INLINE double __nv_normcdf(double x) { return 0.5 * __builtin_erfc(-x * 0.70710678118654752440); }
INLINE float __nv_normcdff(float x) { return (float)__nv_normcdf(x); }
INLINE double __nv_erfcx(double x) { // exp(x*x) overflows before erfc vanishes; then the asymptotic series
  if (x < 25)
    return branchless_exp(x * x) * __builtin_erfc(x);
  const double square = 1 / (2 * x * x);
  return (1 - square * (1 - 3 * square * (1 - 5 * square))) / (x * 1.77245385090551602730);
}
INLINE float __nv_erfcxf(float x) { return (float)__nv_erfcx(x); }

// Variants that are faster and less accurate on a GPU.
#define FAST(name)                                                                                           \
  INLINE float __nv_fast_##name(float x) { return __nv_##name(x); }
FAST(cosf)
FAST(sinf)
FAST(tanf)
FAST(expf)
FAST(exp10f)
FAST(logf)
FAST(log2f)
FAST(log10f)
INLINE float __nv_fast_powf(float x, float y) { return __nv_powf(x, y); }
INLINE float __nv_fast_fdividef(float x, float y) { return x / y; }
INLINE void __nv_fast_sincosf(float x, float* s, float* c) { __nv_sincosf(x, s, c); }
INLINE float __nv_saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; } // NaN becomes 0

// Rounding to nearest, which is the CPU's mode.
INLINE double __nv_dadd_rn(double x, double y) { return x + y; }
INLINE double __nv_dsub_rn(double x, double y) { return x - y; }
INLINE double __nv_dmul_rn(double x, double y) { return x * y; }
INLINE double __nv_ddiv_rn(double x, double y) { return x / y; }
INLINE double __nv_drcp_rn(double x) { return 1 / x; }
INLINE double __nv_dsqrt_rn(double x) { return __builtin_sqrt(x); }
INLINE double __nv_fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
INLINE float __nv_fadd_rn(float x, float y) { return x + y; }
INLINE float __nv_fsub_rn(float x, float y) { return x - y; }
INLINE float __nv_fmul_rn(float x, float y) { return x * y; }
INLINE float __nv_fdiv_rn(float x, float y) { return x / y; }
INLINE float __nv_frcp_rn(float x) { return 1 / x; }
INLINE float __nv_frsqrt_rn(float x) { return (float)(1 / __builtin_sqrt((double)x)); }
INLINE float __nv_fsqrt_rn(float x) { return __builtin_sqrtf(x); }
INLINE float __nv_fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

// Conversions. C leaves values out of range undefined; PTX saturates. NaN becomes 0 between types of 32 bits, else the
// highest bit (PTX ISA, "cvt").
#define LIMITS(type, from, low, high, nan)                                                                   \
  static INLINE type type##_of_##from(from x) {                                                              \
    return x != x ? (nan) : x <= (from)(low) ? (low) : x >= (from)(high) ? (high) : (type)x;                 \
  }
typedef unsigned uint;
typedef long long ll;
typedef unsigned long long ull;
LIMITS(int, float, INT32_MIN, INT32_MAX, 0)
LIMITS(int, double, INT32_MIN, INT32_MAX, INT32_MIN)
LIMITS(uint, float, 0u, UINT32_MAX, 0)
LIMITS(uint, double, 0u, UINT32_MAX, 1u << 31)
LIMITS(ll, float, INT64_MIN, INT64_MAX, INT64_MIN)
LIMITS(ll, double, INT64_MIN, INT64_MAX, INT64_MIN)
LIMITS(ull, float, 0ull, UINT64_MAX, 1ull << 63)
LIMITS(ull, double, 0ull, UINT64_MAX, 1ull << 63)
INLINE ll __nv_llrint(double x) { return ll_of_double(__builtin_rint(x)); }
INLINE ll __nv_llrintf(float x) { return ll_of_float(__builtin_rintf(x)); }
#define MODES(name, type, from, suffix)                                                                      \
  INLINE type name##_rn(from x) { return type##_of_##from(__builtin_rint##suffix(x)); }                      \
  INLINE type name##_rz(from x) { return type##_of_##from(__builtin_trunc##suffix(x)); }                     \
  INLINE type name##_rd(from x) { return type##_of_##from(__builtin_floor##suffix(x)); }                     \
  INLINE type name##_ru(from x) { return type##_of_##from(__builtin_ceil##suffix(x)); }
MODES(__nv_float2int, int, float, f)
MODES(__nv_float2uint, uint, float, f)
MODES(__nv_float2ll, ll, float, f)
MODES(__nv_float2ull, ull, float, f)
MODES(__nv_double2int, int, double, )
MODES(__nv_double2uint, uint, double, )
MODES(__nv_double2ll, ll, double, )
MODES(__nv_double2ull, ull, double, )
INLINE float __nv_int2float_rn(int x) { return (float)x; }
INLINE float __nv_uint2float_rn(uint x) { return (float)x; }
INLINE float __nv_ll2float_rn(ll x) { return (float)x; }
INLINE float __nv_fmaf_ieee_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
INLINE float __nv_ull2float_rn(ull x) { return (float)x; }
INLINE double __nv_int2double_rn(int x) { return x; }
INLINE double __nv_uint2double_rn(uint x) { return x; }
INLINE double __nv_ll2double_rn(ll x) { return (double)x; }
INLINE double __nv_ull2double_rn(ull x) { return (double)x; }
INLINE float __nv_double2float_rn(double x) { return (float)x; }

INLINE int __nv_float_as_int(float x) { return (int)float_bits(x); }
INLINE uint __nv_float_as_uint(float x) { return float_bits(x); }
INLINE float __nv_int_as_float(int x) { return float_of_bits((uint)x); }
INLINE float __nv_uint_as_float(uint x) { return float_of_bits(x); }
INLINE ll __nv_double_as_longlong(double x) { return (ll)double_bits(x); }
INLINE double __nv_longlong_as_double(ll x) { return double_of_bits((ull)x); }
INLINE int __nv_double2hiint(double x) { return (int)(__nv_double_as_longlong(x) >> 32); }
INLINE int __nv_double2loint(double x) { return (int)__nv_double_as_longlong(x); }
INLINE double __nv_hiloint2double(int high, int low) {
  return __nv_longlong_as_double((ll)((ull)(uint)high << 32 | (uint)low));
}

INLINE int __nv_isnanf(float x) { return x != x; }
INLINE int __nv_isnand(double x) { return x != x; }
INLINE int __nv_isinff(float x) { return __builtin_isinf(x); }
INLINE int __nv_isinfd(double x) { return __builtin_isinf(x); }
INLINE int __nv_finitef(float x) { return __builtin_isfinite(x); }
INLINE int __nv_isfinited(double x) { return __builtin_isfinite(x); }
INLINE int __nv_signbitf(float x) { return __builtin_signbitf(x) != 0; }
INLINE int __nv_signbitd(double x) { return __builtin_signbit(x) != 0; }
INLINE float __nv_nanf(const signed char* tag) { return (void)tag, __builtin_nanf(""); }
INLINE double __nv_nan(const signed char* tag) { return (void)tag, __builtin_nan(""); }

// Integers.
INLINE int __nv_abs(int x) { return x < 0 ? (int)(0 - (uint)x) : x; }
INLINE ll __nv_llabs(ll x) { return x < 0 ? (ll)(0 - (ull)x) : x; }
INLINE int __nv_min(int x, int y) { return x < y ? x : y; }
INLINE int __nv_max(int x, int y) { return x > y ? x : y; }
INLINE uint __nv_umin(uint x, uint y) { return x < y ? x : y; }
INLINE uint __nv_umax(uint x, uint y) { return x > y ? x : y; }
INLINE ll __nv_llmin(ll x, ll y) { return x < y ? x : y; }
INLINE ll __nv_llmax(ll x, ll y) { return x > y ? x : y; }
INLINE ull __nv_ullmin(ull x, ull y) { return x < y ? x : y; }
INLINE ull __nv_ullmax(ull x, ull y) { return x > y ? x : y; }
INLINE int __nv_brev(int x) { return (int)__builtin_bitreverse32((uint)x); }
INLINE ll __nv_brevll(ll x) { return (ll)__builtin_bitreverse64((ull)x); }
INLINE int __nv_clz(int x) { return x ? __builtin_clz((uint)x) : 32; }
INLINE int __nv_clzll(ll x) { return x ? __builtin_clzll((ull)x) : 64; }
INLINE int __nv_ffs(int x) { return __builtin_ffs(x); }
INLINE int __nv_ffsll(ll x) { return __builtin_ffsll(x); }
INLINE int __nv_popc(int x) { return __builtin_popcount((uint)x); }
INLINE int __nv_popcll(ll x) { return __builtin_popcountll((ull)x); }
INLINE int __nv_mulhi(int x, int y) { return (int)((ll)x * y >> 32); }
INLINE uint __nv_umulhi(uint x, uint y) { return (uint)((ull)x * y >> 32); }
INLINE ll __nv_mul64hi(ll x, ll y) { return (ll)((__int128)x * y >> 64); }
INLINE ull __nv_umul64hi(ull x, ull y) { return (ull)((unsigned __int128)x * y >> 64); }
static INLINE int low24(int x) { return (int)((uint)x << 8) >> 8; }
INLINE int __nv_mul24(int x, int y) { return (int)((uint)low24(x) * (uint)low24(y)); }
INLINE uint __nv_umul24(uint x, uint y) { return (x & 0xffffff) * (y & 0xffffff); }
INLINE int __nv_sad(int x, int y, int z) {
  return (int)((uint)z + (x > y ? (uint)x - (uint)y : (uint)y - (uint)x));
}
INLINE uint __nv_usad(uint x, uint y, uint z) { return z + (x > y ? x - y : y - x); }
INLINE int __nv_hadd(int x, int y) { return (int)(((ll)x + y) >> 1); }
INLINE int __nv_rhadd(int x, int y) { return (int)(((ll)x + y + 1) >> 1); }
INLINE uint __nv_uhadd(uint x, uint y) { return (uint)(((ull)x + y) >> 1); }
INLINE uint __nv_urhadd(uint x, uint y) { return (uint)(((ull)x + y + 1) >> 1); }
// PTX ISA, "prmt": each result byte is one of the eight bytes of both operands, or its sign.
INLINE uint xaas_nvvm_prmt(uint x, uint y, uint selector) {
  const ull bytes = (ull)y << 32 | x;
  uint result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint select = selector >> 4 * i & 0xf;
    uint byte = (uint)(bytes >> 8 * (select & 7)) & 0xff;
    if (select & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}
INLINE int __nv_byte_perm(int x, int y, int selector) {
  return (int)xaas_nvvm_prmt((uint)x, (uint)y, (uint)selector & 0x7777);
}

// Intrinsics of the NVPTX back end, named after them: llvm.nvvm.sqrt.rn.f. Those with `ftz` flush
// subnormals.
static INLINE float flushed(float x) {
  return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x;
}
#define ROUNDED_ONE(name, expression)                                                                        \
  INLINE float xaas_nvvm_##name##_f(float x) { return (float)(expression); }                                 \
  INLINE float xaas_nvvm_##name##_ftz_f(float x) {                                                           \
    x = flushed(x);                                                                                          \
    return flushed((float)(expression));                                                                     \
  }
ROUNDED_ONE(sqrt_rn, __builtin_sqrtf(x))
ROUNDED_ONE(sqrt_approx, __builtin_sqrtf(x))
ROUNDED_ONE(rsqrt_approx, 1 / __builtin_sqrtf(x))
ROUNDED_ONE(rcp_rn, 1 / x)
ROUNDED_ONE(rcp_approx, 1 / x)
ROUNDED_ONE(ex2_approx, __nv_exp2f(x))
ROUNDED_ONE(lg2_approx, __builtin_log2f(x))
ROUNDED_ONE(sin_approx, __builtin_sinf(x))
ROUNDED_ONE(cos_approx, __builtin_cosf(x))
ROUNDED_ONE(tanh_approx, __nv_tanhf(x))
ROUNDED_ONE(floor, __builtin_floorf(x))
ROUNDED_ONE(ceil, __builtin_ceilf(x))
ROUNDED_ONE(trunc, __builtin_truncf(x))
ROUNDED_ONE(round, __builtin_rintf(x))
ROUNDED_ONE(fabs, __builtin_fabsf(x))
ROUNDED_ONE(saturate, __nv_saturatef(x))
INLINE float xaas_nvvm_sqrt_f(float x) { return __builtin_sqrtf(x); }
INLINE double xaas_nvvm_sqrt_rn_d(double x) { return __builtin_sqrt(x); }
INLINE double xaas_nvvm_rcp_rn_d(double x) { return 1 / x; }
INLINE double xaas_nvvm_rsqrt_approx_d(double x) { return 1 / __builtin_sqrt(x); }
INLINE double xaas_nvvm_floor_d(double x) { return __builtin_floor(x); }
INLINE double xaas_nvvm_ceil_d(double x) { return __builtin_ceil(x); }
INLINE double xaas_nvvm_trunc_d(double x) { return __builtin_trunc(x); }
INLINE double xaas_nvvm_round_d(double x) { return __builtin_rint(x); }
INLINE double xaas_nvvm_fabs_d(double x) { return __builtin_fabs(x); }

#define ROUNDED_TWO(name, expression)                                                                        \
  INLINE float xaas_nvvm_##name##_f(float x, float y) { return expression; }                                 \
  INLINE float xaas_nvvm_##name##_ftz_f(float x, float y) {                                                  \
    x = flushed(x), y = flushed(y);                                                                          \
    return flushed(expression);                                                                              \
  }
ROUNDED_TWO(add_rn, x + y)
ROUNDED_TWO(mul_rn, x* y)
ROUNDED_TWO(div_rn, x / y)
ROUNDED_TWO(div_full, x / y)
ROUNDED_TWO(div_approx, x / y)
ROUNDED_TWO(fmin, __builtin_fminf(x, y))
ROUNDED_TWO(fmax, __builtin_fmaxf(x, y))
INLINE float xaas_nvvm_div_full(float x, float y) { return x / y; }
INLINE float xaas_nvvm_div_full_ftz(float x, float y) { return xaas_nvvm_div_full_ftz_f(x, y); }
INLINE double xaas_nvvm_add_rn_d(double x, double y) { return x + y; }
INLINE double xaas_nvvm_mul_rn_d(double x, double y) { return x * y; }
INLINE double xaas_nvvm_div_rn_d(double x, double y) { return x / y; }
INLINE double xaas_nvvm_fmin_d(double x, double y) { return __builtin_fmin(x, y); }
INLINE double xaas_nvvm_fmax_d(double x, double y) { return __builtin_fmax(x, y); }
INLINE float xaas_nvvm_fma_rn_f(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
INLINE float xaas_nvvm_fma_rn_ftz_f(float x, float y, float z) {
  return flushed(__builtin_fmaf(flushed(x), flushed(y), flushed(z)));
}
INLINE double xaas_nvvm_fma_rn_d(double x, double y, double z) { return __builtin_fma(x, y, z); }
INLINE int xaas_nvvm_mulhi_i(int x, int y) { return __nv_mulhi(x, y); }
INLINE uint xaas_nvvm_mulhi_ui(uint x, uint y) { return __nv_umulhi(x, y); }
INLINE ll xaas_nvvm_mulhi_ll(ll x, ll y) { return __nv_mul64hi(x, y); }
INLINE ull xaas_nvvm_mulhi_ull(ull x, ull y) { return __nv_umul64hi(x, y); }
INLINE int xaas_nvvm_mul24_i(int x, int y) { return __nv_mul24(x, y); }
INLINE uint xaas_nvvm_mul24_ui(uint x, uint y) { return __nv_umul24(x, y); }
INLINE int xaas_nvvm_sad_i(int x, int y, int z) { return __nv_sad(x, y, z); }
INLINE uint xaas_nvvm_sad_ui(uint x, uint y, uint z) { return __nv_usad(x, y, z); }

// Memory barriers order a thread's accesses for all others.
INLINE void xaas_nvvm_membar_cta(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
INLINE void xaas_nvvm_membar_gl(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
INLINE void xaas_nvvm_membar_sys(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
INLINE void xaas_nvvm_fence_sc_cluster(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Clocks count cycles, the timer nanoseconds. A pause may be shorter than asked for. On AArch64, a process
// cannot read the counter of cycles (the instruction traps); there, clocks count nanoseconds, which are the
// cycles of the clock rate that the run-time library reports.
uint64_t xaas_nanoseconds(void);
static INLINE ull cycles(void) {
#ifdef __aarch64__
  return xaas_nanoseconds();
#else
  return __builtin_readcyclecounter();
#endif
}
INLINE ull xaas_nvvm_read_ptx_sreg_clock64(void) { return cycles(); }
INLINE uint xaas_nvvm_read_ptx_sreg_clock(void) { return (uint)cycles(); }
INLINE ull xaas_nvvm_read_ptx_sreg_globaltimer(void) { return xaas_nanoseconds(); }
INLINE void xaas_nvvm_nanosleep(uint nanoseconds) { (void)nanoseconds; }
INLINE uint xaas_nvvm_reflect(const char* name) { return (void)name, 0; }
