// Problem: a GPU's instructions round up, down or to zero (`__dadd_ru`); a CPU has a mode for all
// instructions, whose change takes longer than the operation and stops vectorization.
//
// Approach: the result to nearest, and the sign of its remainder, the exact result minus it. If that is
// positive, rounding up gives the next number above; and so on.
//
//     s = x + y                   to nearest
//     rest = x + y - s            which is representable, and of which only the sign counts
//     up:  rest > 0 ? next(s) : s
//
// In single precision, remainders are computed in double precision, which holds the product of two floats
// exactly, and their sum as two numbers. In double precision, the remainders of sums and products are
// representable (Dekker's Fast2Sum; a fused multiply-add), and that of a fused multiply-add is Boldo and
// Muller's ("Exact and Approximated Error of the FMA", 2011). Where a remainder would underflow, or a product
// overflow, everything is multiplied by a power of two; of what is still too small only the sign is kept.
//
// The remainder of an infinite result is NaN, so that infinities and NaN stay as they are; where finite
// operands overflowed, the exact result is smaller in magnitude.
#pragma once

#define INLINE __attribute__((always_inline))

static INLINE double next_up(double x) { // of a number other than infinity
  long long bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  bits = x == 0 ? 1 : bits + (x > 0 ? 1 : -1);
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
static INLINE float next_upf(float x) {
  int bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  bits = x == 0 ? 1 : bits + (x > 0 ? 1 : -1);
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

// A result to nearest, and a number with the sign of its remainder.
#define ROUNDED(type, suffix)                                                                                \
  static INLINE type round_ru##suffix(type x, double rest) {                                                 \
    return rest > 0 ? next_up##suffix(x) : x;                                                                \
  }                                                                                                          \
  static INLINE type round_rd##suffix(type x, double rest) {                                                 \
    return rest < 0 ? -next_up##suffix(-x) : x;                                                              \
  }                                                                                                          \
  static INLINE type round_rz##suffix(type x, double rest) {                                                 \
    return x > 0 ? round_rd##suffix(x, rest) : x < 0 ? round_ru##suffix(x, rest) : x;                        \
  }
ROUNDED(double, )
ROUNDED(float, f)

// Rounded down, the sum of a number and its opposite is -0.
static INLINE int zero_rd(double sum, double rest, int has_negative) {
  return sum == 0 && rest == 0 && has_negative;
}
static INLINE int zero_ru(double sum, double rest, int has_negative) {
  return (void)sum, (void)rest, (void)has_negative, 0;
}
static INLINE int zero_rz(double sum, double rest, int has_negative) {
  return zero_ru(sum, rest, has_negative);
}

// `rest`, or, after an overflow, a number with the sign of the exact result minus the infinite one.
static INLINE double finite_rest(double result, double rest, int is_of_finite) {
  return !__builtin_isinf(result) ? rest : is_of_finite ? -result : 0;
}

static INLINE double rest_of_sum(double x, double y, double sum) {
  const int x_is_larger = __builtin_fabs(x) > __builtin_fabs(y);
  const double large = x_is_larger ? x : y, small = x_is_larger ? y : x;
  return small - (sum - large);
}

static INLINE double sign_of_product(double x, double y) {
  return x == 0 || y == 0 ? 0 : __builtin_copysign(1, x) * __builtin_copysign(1, y);
}

static INLINE double rest_of_product(double x, double y, double product) {
  if (__builtin_fabs(product) >= 0x1p-900)
    return __builtin_fma(x, y, -product);
  if (product == 0)
    return sign_of_product(x, y);
  const int x_is_small = __builtin_fabs(x) < __builtin_fabs(y);
  const double a = (x_is_small ? x : y) * 0x1p500, b = x_is_small ? y : x, scaled = a * b;
  return (scaled - product * 0x1p500) + __builtin_fma(a, b, -scaled);
}

static INLINE double rest_of_quotient(double x, double y, double quotient) {
  const double scale = __builtin_fabs(x) < 0x1p-900 ? 0x1p500 : 1;
  return __builtin_fma(-quotient * scale, y, x * scale) * __builtin_copysign(1, y);
}

static INLINE double rest_of_root(double x, double root) {
  const int is_small = x < 0x1p-900;
  const double scaled = root * (is_small ? 0x1p250 : 1);
  return __builtin_fma(-scaled, scaled, x * (is_small ? 0x1p500 : 1));
}

static INLINE double rest_of_fma(double x, double y, double z, double result) {
  const double size = __builtin_fmax(__builtin_fabs(x * y), __builtin_fabs(z));
  const double scale = size >= 0x1p900 ? 0x1p-600 : size < 0x1p-800 ? 0x1p600 : 1;
  // The factor that is scaled stays normal, unless the product is too small to matter.
  const int x_first = (__builtin_fabs(x) < __builtin_fabs(y)) == (scale > 1);
  const double a = (x_first ? x : y) * scale, b = x_first ? y : x, sign = sign_of_product(x, y);
  double product = a * b, low = __builtin_fma(a, b, -product), c = z * scale;
  if (sign != 0 && __builtin_fabs(product) < 0x1p-960)
    product = sign * 0x1p-960, low = 0;
  if (z != 0 && __builtin_fabs(c) < 0x1p-1000 && scale < 1)
    c = __builtin_copysign(0x1p-1000, z);
  const double middle = c + low, rest_of_middle = rest_of_sum(c, low, middle), sum = product + middle,
               rest = rest_of_sum(product, middle, sum);
  return ((sum - result * scale) + rest) + rest_of_middle;
}

#define FINITE2(x, y) (__builtin_isfinite(x) && __builtin_isfinite(y))
#define NEGATIVE(x) (__builtin_signbit(x) != 0)

// Double precision, in one direction.
#define DIRECTED(mode)                                                                                       \
  INLINE double __nv_dadd_##mode(double x, double y) {                                                       \
    const double sum = x + y, rest = finite_rest(sum, rest_of_sum(x, y, sum), FINITE2(x, y));                \
    return zero_##mode(sum, rest, NEGATIVE(x) || NEGATIVE(y)) ? -0.0 : round_##mode(sum, rest);              \
  }                                                                                                          \
  INLINE double __nv_dsub_##mode(double x, double y) {                                                       \
    return __nv_dadd_##mode(x, -y);                                                                          \
  }                                                                                                          \
  INLINE double __nv_dmul_##mode(double x, double y) {                                                       \
    const double product = x * y;                                                                            \
    return round_##mode(product, finite_rest(product, rest_of_product(x, y, product), FINITE2(x, y)));       \
  }                                                                                                          \
  INLINE double __nv_ddiv_##mode(double x, double y) {                                                       \
    const double quotient = x / y;                                                                           \
    return round_##mode(                                                                                     \
        quotient, finite_rest(quotient, rest_of_quotient(x, y, quotient), __builtin_isfinite(x) && y != 0)); \
  }                                                                                                          \
  INLINE double __nv_drcp_##mode(double x) {                                                                 \
    return __nv_ddiv_##mode(1, x);                                                                           \
  }                                                                                                          \
  INLINE double __nv_dsqrt_##mode(double x) {                                                                \
    const double root = __builtin_sqrt(x);                                                                   \
    return round_##mode(root, rest_of_root(x, root));                                                        \
  }                                                                                                          \
  INLINE double __nv_fma_##mode(double x, double y, double z) {                                              \
    const double result = __builtin_fma(x, y, z),                                                            \
                 rest = finite_rest(result, rest_of_fma(x, y, z, result),                                    \
                                    FINITE2(x, y) && __builtin_isfinite(z));                                 \
    return zero_##mode(result, rest, NEGATIVE(x) != NEGATIVE(y) || NEGATIVE(z))                              \
               ? -0.0                                                                                        \
               : round_##mode(result, rest);                                                                 \
  }                                                                                                          \
  /* Single precision, of sums of two numbers and of numbers in double precision. */                         \
  static INLINE float sum_##mode(double x, double y, int has_negative) {                                     \
    const double sum = x + y, more = rest_of_sum(x, y, sum);                                                 \
    const float result = (float)sum;                                                                         \
    const double rest = (sum - result) + more;                                                               \
    return zero_##mode(result, rest, has_negative) ? -0.0f : round_##mode##f(result, rest);                  \
  }                                                                                                          \
  INLINE float __nv_double2float_##mode(double x) {                                                          \
    const float result = (float)x;                                                                           \
    return round_##mode##f(result, x - result);                                                              \
  }                                                                                                          \
  INLINE float __nv_fadd_##mode(float x, float y) {                                                          \
    return sum_##mode(x, y, NEGATIVE(x) || NEGATIVE(y));                                                     \
  }                                                                                                          \
  INLINE float __nv_fsub_##mode(float x, float y) {                                                          \
    return __nv_fadd_##mode(x, -y);                                                                          \
  }                                                                                                          \
  INLINE float __nv_fmul_##mode(float x, float y) {                                                          \
    return __nv_double2float_##mode((double)x * y);                                                          \
  }                                                                                                          \
  INLINE float __nv_fdiv_##mode(float x, float y) {                                                          \
    const float quotient = x / y;                                                                            \
    const double rest = ((double)x - (double)quotient * y) * __builtin_copysign(1, y);                       \
    return round_##mode##f(quotient, finite_rest(quotient, rest, __builtin_isfinite(x) && y != 0));          \
  }                                                                                                          \
  INLINE float __nv_frcp_##mode(float x) {                                                                   \
    return __nv_fdiv_##mode(1, x);                                                                           \
  }                                                                                                          \
  INLINE float __nv_fsqrt_##mode(float x) {                                                                  \
    const float root = __builtin_sqrtf(x);                                                                   \
    return round_##mode##f(root, (double)x - (double)root * root);                                           \
  }                                                                                                          \
  INLINE float __nv_fmaf_##mode(float x, float y, float z) {                                                 \
    return sum_##mode((double)x * y, z, NEGATIVE(x) != NEGATIVE(y) || NEGATIVE(z));                          \
  }                                                                                                          \
  INLINE float __nv_fmaf_ieee_##mode(float x, float y, float z) {                                            \
    return __nv_fmaf_##mode(x, y, z);                                                                        \
  }                                                                                                          \
  /* Integers. */                                                                                            \
  INLINE float __nv_int2float_##mode(int x) {                                                                \
    return __nv_double2float_##mode(x);                                                                      \
  }                                                                                                          \
  INLINE float __nv_uint2float_##mode(unsigned x) {                                                          \
    return __nv_double2float_##mode(x);                                                                      \
  }                                                                                                          \
  INLINE float __nv_ll2float_##mode(long long x) {                                                           \
    return round_##mode##f((float)x, rest_of_ll(x, (float)x));                                               \
  }                                                                                                          \
  INLINE float __nv_ull2float_##mode(unsigned long long x) {                                                 \
    return round_##mode##f((float)x, rest_of_ull(x, (float)x));                                              \
  }                                                                                                          \
  INLINE double __nv_ll2double_##mode(long long x) {                                                         \
    return round_##mode((double)x, rest_of_ll(x, (double)x));                                                \
  }                                                                                                          \
  INLINE double __nv_ull2double_##mode(unsigned long long x) {                                               \
    return round_##mode((double)x, rest_of_ull(x, (double)x));                                               \
  }

static INLINE double rest_of_ll(long long x, double rounded) {
  const long long back = rounded >= 0x1p63 ? 0 : (long long)rounded;
  return rounded >= 0x1p63 || back > x ? -1 : back < x;
}
static INLINE double rest_of_ull(unsigned long long x, double rounded) {
  const unsigned long long back = rounded >= 0x1p64 ? 0 : (unsigned long long)rounded;
  return rounded >= 0x1p64 || back > x ? -1 : back < x;
}
DIRECTED(rd)
DIRECTED(ru)
DIRECTED(rz)
