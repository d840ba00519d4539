// Types whose passing and returning depends on the instruction set, or is unusual; one is chosen with
// -DT=type -DE=element -DN=elements.
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VECTOR(E, BYTES) __attribute__((vector_size(BYTES))) E
typedef signed char byte;
typedef long double wide;
typedef _Float16 half;
typedef VECTOR(float, 16) v4f;
typedef VECTOR(float, 32) v8f;
typedef VECTOR(double, 32) v4d;
typedef VECTOR(byte, 32) v32b;
typedef VECTOR(half, 32) v16h;
typedef VECTOR(float, 64) v16f;
typedef VECTOR(long, 64) v8l;
typedef VECTOR(float, 128) v32f;
typedef double x6d __attribute__((ext_vector_type(6)));
typedef float _Complex cf;
typedef double _Complex cd;
typedef long double _Complex cl;
typedef __int128 i128;
typedef struct { v8f a; } s8f;
typedef struct { v4d a, b; } s4d4d;
typedef struct { v16f a; } s16f;
typedef struct { v4f a; float b[4]; } s4f4;
typedef union { v8f a; v4d b; } u8f;
#ifdef __clang__
typedef _BitInt(128) b128;
typedef _BitInt(200) b200;
#endif

typedef T function(T a, int k, T b);
T make(int x);
function change;
double total(T a, double factor, T b);
T many(int count, ...);
T through(function *f, T x);
function *pick(void);

typedef E __attribute__((may_alias)) element;
static inline element get(const T *t, int i) { return ((const element *)t)[i]; }
// No vectors pass here, so that functions of every CPU may call these.
static inline void fill(T *t, int x) {
  memset(t, 0, sizeof *t);
  for (int i = 0; i < N; ++i)
    ((element *)t)[i] = (element)(x + i);
}
static inline void combine(T *a, int k, const T *b) {
  for (int i = 0; i < N; ++i)
    ((element *)a)[i] = (element)(get(a, i) * k + get(b, i));
}
#define MAKE(X) { T t; fill(&t, X); return t; }
#define CHANGE(A, K, B) { T t = A; combine(&t, K, &B); return t; }
#define TOTAL { return (double)get(&a, 0) * factor + (double)get(&b, N - 1); }
#define MANY(START) { \
    T sum = START; \
    va_list list; \
    va_start(list, count); \
    while (count-- > 0) \
      sum = change(sum, 2, va_arg(list, T)); \
    va_end(list); \
    return sum; \
  }
