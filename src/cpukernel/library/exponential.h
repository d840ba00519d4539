// Problem: the C library's exponential functions take one number at a time. In a loop over the threads that
// LLVM vectorizes, they are calls for each element, and usually take most of its time.
//
// Approach: functions without branches, tables or calls, which are inlined and become code for whole vectors.
// A kernel gets the same result from them in every form, vectorized or not. The argument is reduced to a
// small interval around 0 (W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", chapter 6),
// where a polynomial approximates the function; Sollya's fpminimax() found its coefficients:
//
//     exp(x) = 2^n * exp(r)       n = x / log(2), rounded; r = x - n * log(2)
//
// In tests with 10^7 arguments, the largest errors were 1.02 units in the last place for exp() and 1.08 for
// exp2(). The functions in single precision compute in double precision; over all arguments, their largest
// error is 0.51.
//
// Multiplications and additions become fused ones where the CPU has these; no step relies on it. LLVM always
// fuses them when it evaluates a function of a constant, so without such instructions that result may differ
// in the last bit.
//
// Outside of vectors, these functions take about as long as glibc's, and tanhf() a third as long. Logarithms
// and powers of this kind take two and three times as long there, so they are left to the C library.
//
// Rejected: glibc's vector functions (libmvec). They exist on some systems only, images would have to carry
// them, and threads in the rest of a loop would get other results than those in its vectors.
#pragma once

#define INLINE __attribute__((always_inline))

// The bits of a number as one of another type.
#define BITS(name, to, from)                                                                                 \
  static INLINE to name(from x) {                                                                            \
    to bits;                                                                                                 \
    _Static_assert(sizeof(bits) == sizeof(x), "the same size");                                              \
    __builtin_memcpy(&bits, &x, sizeof(bits));                                                               \
    return bits;                                                                                             \
  }
BITS(float_bits, unsigned, float)
BITS(double_bits, unsigned long long, double)
BITS(float_of_bits, float, unsigned)
BITS(double_of_bits, double, unsigned long long)

// The hardware rounds the sum of this and a small number to an integer, which its lowest bits then are. AVX2
// has no conversion between double precision and integers of 64 bits.
#define ROUNDER 0x1.8p52

// p * 2^n, rounded once. `bits` has n in its low bits. 2^n may have no normal form where the product has, so
// a power of two is left for a second multiplication. With the lowest n, 2^n has all bits 0 and is 0, since a
// product that underflows takes as long as a hundred others.
#define LOWEST (-1086)
static INLINE double scaled(double p, double n, unsigned long long bits) {
  const int is_small = n < -1000;
  return p * double_of_bits((bits + (is_small ? -LOWEST : 1022)) << 52) * (is_small ? 0x1p-63 : 2);
}

// Sums in pairs (Estrin's scheme), which halves the latency.
static INLINE double exp_reduced(double r) {
  const double r2 = r * r, r4 = r2 * r2;
  const double a = (0x1.5555555555557p-3 * r + 0.5) + (0x1.1111111110049p-7 * r + 0x1.5555555555552p-5) * r2;
  const double b = (0x1.a01a01ac2497ep-13 * r + 0x1.6c16c16c18939p-10) +
                   (0x1.71de0192ff507p-19 * r + 0x1.a01a0197bcfdbp-16) * r2;
  const double c = (0x1.af4f07d7f9975p-26 * r + 0x1.27e500d1f7ee9p-22) + 0x1.1f33231588753p-29 * r2;
  return 1 + (((c * r4 + b) * r4 + a) * r2 + r);
}

// NaN passes both comparisons and stays. Selecting a result instead would have LLVM move conditions through
// registers of integers, in code that is not vectorized for AVX-512, where each iteration of a loop then
// waits for the one before.
static INLINE double branchless_exp(double x) {
  x = x > 710 ? 710 : x;
  x = x < -753 ? -753 : x; // n is LOWEST
  const double rounded = x * 0x1.71547652b82fep0 + ROUNDER;
  const double n = rounded - ROUNDER;
  const double r = (x - n * 0x1.62e42ffp-1) + n * 0x1.718432a1b0e26p-35;
  return scaled(exp_reduced(r), n, double_bits(rounded));
}

static INLINE double branchless_exp2(double x) {
  x = x > 1025 ? 1025 : x;
  x = x < LOWEST ? LOWEST : x;
  const double rounded = x + ROUNDER;
  const double n = rounded - ROUNDER;
  return scaled(exp_reduced((x - n) * 0x1.62e42fefa39efp-1), n, double_bits(rounded));
}

// exp(r) - 1, for results in single precision. The error is relative to it.
static INLINE double expm1_reduced(double r) {
  const double r2 = r * r;
  const double a = (0x1.55555526e93f2p-3 * r + 0x1.0000000b8fde3p-1) +
                   (0x1.11114c1a346d9p-7 * r + 0x1.5554e8ea48ef4p-5) * r2;
  const double b = 0x1.a072ed80191c3p-13 * r + 0x1.6d43642788d1dp-10;
  return r + r2 * (a + b * (r2 * r2));
}
static INLINE double power_of_two(double rounded) {
  return double_of_bits((double_bits(rounded) + 1023) << 52);
}

// Below the least positive number, 0 is chosen: rounding to it takes as long as an underflow.
static INLINE float branchless_expf(float x) {
  const double y = x > 89 ? 89 : x;
  const double rounded = y * 0x1.71547652b82fep0 + ROUNDER;
  const double r = y - (rounded - ROUNDER) * 0x1.62e42fefa39efp-1;
  return (float)(x < -104 ? 0 : (1 + expm1_reduced(r)) * power_of_two(rounded));
}

static INLINE float branchless_exp2f(float x) {
  const double y = x > 129 ? 129 : x;
  const double rounded = y + ROUNDER;
  const double r = (y - (rounded - ROUNDER)) * 0x1.62e42fefa39efp-1;
  return (float)(x < -150 ? 0 : (1 + expm1_reduced(r)) * power_of_two(rounded));
}

// exp(x) - 1 = 2^n * (exp(r) - 1) + (2^n - 1), which has no cancellation where the result is small: there, n
// is 0.
static INLINE double expm1_for_float(double x) {
  x = x > 89 ? 89 : x;
  x = x < -40 ? -40 : x; // the result is -1
  const double rounded = x * 0x1.71547652b82fep0 + ROUNDER;
  const double power = power_of_two(rounded);
  return power * expm1_reduced(x - (rounded - ROUNDER) * 0x1.62e42fefa39efp-1) + (power - 1);
}
static INLINE float branchless_expm1f(float x) {
  return __builtin_copysignf((float)expm1_for_float(x), x); // -0 for -0
}
static INLINE float branchless_tanhf(float x) {
  const double m = expm1_for_float(2 * (double)x);
  return __builtin_copysignf((float)(m / (m + 2)), x);
}
