// Functions of libdevice that are more than a call of the C library.
#pragma once

#include "exponential.h"

static INLINE double polynomial(const double* coefficients, int count, double x) {
  double sum = 0;
  for (int i = count; i-- > 0;)
    sum = sum * x + coefficients[i];
  return sum;
}
#define RATIO(above, below, x)                                                                               \
  (polynomial(above, sizeof(above) / sizeof(*above), x) /                                                    \
   polynomial(below, sizeof(below) / sizeof(*below), x))

// The standard normal distribution's quantile of 1/2 + q, where `tails` is 1 - 2 * |q|: what lies beyond it
// and its opposite. M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution",
// PPND16 (relative error 1e-16). Both arguments, so that neither the middle nor the tails lose digits.
static INLINE double quantile(double q, double tails) {
  static const double middle[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                  1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                  3.3430575583588128105e4, 2.5090809287301226727e3},
                      below_middle[] = {1,
                                        4.2313330701600911252e1,
                                        6.8718700749205790830e2,
                                        5.3941960214247511077e3,
                                        2.1213794301586595867e4,
                                        3.9307895800092710610e4,
                                        2.8729085735721942674e4,
                                        5.2264952788528545610e3},
                      near[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                5.76949722146069140550e0,  3.64784832476320460504e0,
                                1.27045825245236838258e0,  2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4},
                      below_near[] = {1,
                                      2.05319162663775882187e0,
                                      1.67638483018380384940e0,
                                      6.89767334985100004550e-1,
                                      1.48103976427480074590e-1,
                                      1.51986665636164571966e-2,
                                      5.47593808499534494600e-4,
                                      1.05075007164441684324e-9},
                      far[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7},
                      below_far[] = {1,
                                     5.99832206555887937690e-1,
                                     1.36929880922735805310e-1,
                                     1.48753612908506148525e-2,
                                     7.86869131145613259100e-4,
                                     1.84631831751005468180e-5,
                                     1.42151175831644588870e-7,
                                     2.04426310338993978564e-15};
  if (__builtin_fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * RATIO(middle, below_middle, r);
  }
  const double r = __builtin_sqrt(0.69314718055994530942 - __builtin_log(tails));
  const double x = tails == 0 ? __builtin_inf()
                   : r <= 5   ? RATIO(near, below_near, r - 1.6)
                              : RATIO(far, below_far, r - 5);
  return q < 0 ? -x : x;
}
INLINE double __nv_normcdfinv(double p) {
  return quantile(p - 0.5, 2 * (p < 0.5 ? p : 1 - p));
}
INLINE double __nv_erfinv(double x) {
  return 0.70710678118654752440 * quantile(0.5 * x, 1 - __builtin_fabs(x));
}
INLINE double __nv_erfcinv(double x) {
  return 0.70710678118654752440 * quantile(0.5 * (1 - x), x < 1 ? x : 2 - x);
}
INLINE float __nv_normcdfinvf(float p) {
  return (float)__nv_normcdfinv(p);
}
INLINE float __nv_erfinvf(float x) {
  return (float)__nv_erfinv(x);
}
INLINE float __nv_erfcinvf(float x) {
  return (float)__nv_erfcinv(x);
}

// Modified Bessel functions of the first kind (Digital Library of Mathematical Functions, 10.25.2
// and 10.40.1). The terms of the power series are positive; those of the asymptotic series vanish before they
// grow again.
static INLINE double bessel_i(double x, int order) {
  const double size = __builtin_fabs(x);
  double term = 1, sum = 1;
  if (size < 30) {
    const double square = 0.25 * x * x;
    for (int k = 1; k < 100 && term > sum * 0x1p-54; ++k)
      sum += term *= square / ((double)k * (k + order));
    return order == 0 ? sum : 0.5 * x * sum;
  }
  for (int k = 1; k < 30 && __builtin_fabs(term) > 0x1p-54; ++k) {
    const double odd = 2 * k - 1;
    sum += term *= -(4.0 * order * order - odd * odd) / (8 * k * size);
  }
  const double half = branchless_exp(0.5 * size); // exp(x) would overflow first
  const double value = half / (2.50662827463100050242 * __builtin_sqrt(size)) * sum * half;
  return __builtin_isinf(x) ? (order == 0 ? size : x) : order == 1 && x < 0 ? -value : value;
}
INLINE double __nv_cyl_bessel_i0(double x) {
  return bessel_i(x, 0);
}
INLINE double __nv_cyl_bessel_i1(double x) {
  return bessel_i(x, 1);
}
INLINE float __nv_cyl_bessel_i0f(float x) {
  return (float)bessel_i(x, 0);
}
INLINE float __nv_cyl_bessel_i1f(float x) {
  return (float)bessel_i(x, 1);
}

// The length of a vector, or 1 divided by it.
static INLINE double length(int count, const double* x, int inverse) {
  double largest = 0, sum = 0;
  for (int i = 0; i < count; ++i)
    largest = __builtin_fmax(largest, __builtin_fabs(x[i]));
  if (largest == 0 || __builtin_isinf(largest)) {
    for (int i = 0; i < count && largest == 0; ++i)
      sum += __builtin_fabs(x[i]); // all are 0 or NaN
    return inverse ? 1 / (largest + sum) : largest + sum;
  }
  for (int i = 0; i < count; ++i)
    sum += (x[i] / largest) * (x[i] / largest);
  return inverse ? 1 / __builtin_sqrt(sum) / largest : largest * __builtin_sqrt(sum);
}
INLINE double __nv_norm(int count, const double* x) {
  return length(count, x, 0);
}
INLINE double __nv_rnorm(int count, const double* x) {
  return length(count, x, 1);
}
static INLINE double length_of_floats(int count, const float* x) {
  double sum = 0;
  int has_infinity = 0;
  for (int i = 0; i < count; ++i) {
    has_infinity |= __builtin_isinf(x[i]) != 0;
    sum += (double)x[i] * x[i];
  }
  return has_infinity ? __builtin_inf() : __builtin_sqrt(sum);
}
INLINE float __nv_normf(int count, const float* x) {
  return (float)length_of_floats(count, x);
}
INLINE float __nv_rnormf(int count, const float* x) {
  return (float)(1 / length_of_floats(count, x));
}

INLINE float __nv_fast_tanhf(float x) {
  return __builtin_tanhf(x);
}
INLINE float __nv_half2float(unsigned short bits) {
  _Float16 half;
  __builtin_memcpy(&half, &bits, sizeof(half));
  return (float)half;
}
INLINE unsigned short __nv_float2half_rn(float x) {
  const _Float16 half = (_Float16)x;
  unsigned short bits;
  __builtin_memcpy(&bits, &half, sizeof(bits));
  return bits;
}
// The upper half of 1 / x; subnormal numbers count as 0 (PTX ISA, "rcp.approx.ftz.f64").
INLINE double __nv_rcp64h(double x) {
  const double flushed = __builtin_fabs(x) < 0x1p-1022 ? __builtin_copysign(0, x) : x;
  double result = 1 / flushed;
  if (__builtin_fabs(result) < 0x1p-1022)
    result = __builtin_copysign(0, result);
  unsigned long long bits;
  __builtin_memcpy(&bits, &result, sizeof(bits));
  bits &= 0xffffffff00000000;
  __builtin_memcpy(&result, &bits, sizeof(bits));
  return result;
}
