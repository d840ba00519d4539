#!/bin/bash
# Functions that return vectors of more than 128 bits: the registers depend on the instruction set, and a program may have code
# for several. Tries every way of calling with every kind of type, in IR images of two levels deployed for three CPUs, with and
# without LTO; the output is that of native Clang for the CPU.
source "$E2E/lib.sh"
needs jq make clang-22

mkdir src
cat >src/types.h <<'END'
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
typedef float v8f __attribute__((vector_size(32)));
typedef float v16f __attribute__((vector_size(64)));
typedef float v32f __attribute__((vector_size(128)));
typedef double v4d __attribute__((vector_size(32)));
typedef double v3d __attribute__((ext_vector_type(3)));
typedef signed char v32c __attribute__((vector_size(32)));
typedef short v32s __attribute__((vector_size(64)));
typedef __int128 v2q __attribute__((vector_size(32)));
typedef _Float16 v16h __attribute__((vector_size(32)));
typedef struct { v8f a; } sv8f;
typedef struct { v16f a; float b[16]; } sv16f;
typedef struct { unsigned _BitInt(256) a; } sb256;
typedef unsigned _BitInt(512) b512;
typedef _Complex double cd;
#define TYPES(X) X(v8f) X(v16f) X(v32f) X(v4d) X(v3d) X(v32c) X(v32s) X(v2q) X(v16h) X(sv8f) X(sv16f) X(sb256) X(b512) X(cd)
#define BYTES(T) (__builtin_strcmp(#T, "v3d") ? sizeof(T) : 24)
#define MAKE(T, seed) { T r; unsigned char b[sizeof r]; \
  for (unsigned i = 0; i < sizeof b; ++i) b[i] = (seed + i * 7) & 0x3f; memcpy(&r, b, sizeof r); return r; }
#ifdef __cplusplus
extern "C" {
#endif
#define DECLARE(T) T plain_##T(int); T native_##T(int); T shared_##T(int); T through_##T(T (*)(int), int); T many_##T(int, ...); \
  T given_##T(T); T ifunc_##T(int); T both_##T(int); T pointer_##T(int); T specific_##T(int); T thrown_##T(int);
TYPES(DECLARE)
void may_throw(int);
#ifdef __cplusplus
}
#endif
END
cat >src/plain.c <<'END'
#include "types.h"
#define D(T) T plain_##T(int seed) MAKE(T, seed) T given_##T(T a) { return a; } \
  T many_##T(int n, ...) { va_list l; T r; va_start(l, n); while (n--) r = va_arg(l, T); va_end(l); return r; }
TYPES(D)
END
cat >src/native.c <<'END'
#include "types.h"
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#define D(T) T NAME(PREFIX, T)(int seed) MAKE(T, seed)
TYPES(D)
#ifdef CALLS
#define C(T) T through_##T(T (*f)(int), int seed) { T r = f(seed), s; unsigned char b[sizeof r]; memcpy(b, &r, sizeof r); \
  for (unsigned i = 0; i < sizeof b; ++i) b[i] ^= 0; memcpy(&s, b, sizeof r); return s; }
TYPES(C)
#endif
END
cat >src/chosen.c <<'END'
#include "types.h"
#define D(T) static T base_##T(int seed) MAKE(T, seed) \
  __attribute__((target("avx2"))) static T avx2_##T(int seed) MAKE(T, seed) \
  __attribute__((target("avx512f"))) static T avx512_##T(int seed) MAKE(T, seed) \
  T both_##T(int seed) MAKE(T, seed) \
  static T (*pick_##T(void))(int) { T r = both_##T(3); unsigned char b[sizeof r]; memcpy(b, &r, sizeof b); __builtin_cpu_init(); \
    return b[9] != ((3 + 9 * 7) & 0x3f) ? 0 : __builtin_cpu_supports("avx512f") ? avx512_##T \
      : __builtin_cpu_supports("avx2") ? avx2_##T : base_##T; } \
  T ifunc_##T(int) __attribute__((ifunc("pick_" #T))); \
  T pointer_##T(int seed) { static T (*volatile f)(int); f = __builtin_cpu_supports("avx2") ? avx2_##T : base_##T; return f(seed); }
TYPES(D)
END
cat >src/specific.c <<'END'
#include "types.h"
#define D(T) __attribute__((cpu_specific(generic))) T some_##T(int seed) MAKE(T, seed) \
  __attribute__((cpu_specific(core_4th_gen_avx))) T some_##T(int seed) MAKE(T, seed) \
  __attribute__((cpu_specific(skylake_avx512))) T some_##T(int seed) MAKE(T, seed) \
  __attribute__((cpu_dispatch(generic, core_4th_gen_avx, skylake_avx512))) T some_##T(int seed) {} \
  T specific_##T(int seed) { return some_##T(seed); }
TYPES(D)
END
cat >src/throw.cpp <<'END'
#include "types.h"
void may_throw(int seed) { if (seed < 0) throw seed; }
#define D(T) __attribute__((noinline)) static T half_##T(int seed) { may_throw(seed); return plain_##T(seed); } \
  static T (*volatile f_##T)(int) = half_##T; \
  T thrown_##T(int seed) { T r = half_##T(1); for (int i = -1; i < 1; ++i) try { r = f_##T(i < 0 ? i : seed); } catch (int) {} return r; }
TYPES(D)
END
cat >src/main.c <<'END'
#include "types.h"
static int check(const char *what, const void *got, unsigned size, int seed) {
  for (unsigned i = 0; i < size; ++i)
    if (((const unsigned char *)got)[i] != ((seed + i * 7) & 0x3f))
      return printf("%s: byte %u\n", what, i);
  printf("%s\n", what);
  return 0;
}
#define ONE(T, way, call, seed) { T r = call; bad |= check(#way " " #T, &r, BYTES(T), seed); }
#define D(T) { ONE(T, plain, plain_##T(1), 1) ONE(T, native, native_##T(2), 2) ONE(T, shared, shared_##T(3), 3) \
  ONE(T, callback, through_##T(plain_##T, 4), 4) ONE(T, ifunc, ifunc_##T(5), 5) ONE(T, resolver, both_##T(6), 6) \
  ONE(T, specific, specific_##T(7), 7) ONE(T, thrown, thrown_##T(8), 8) T x = plain_##T(9), y = plain_##T(10); \
  ONE(T, varargs, many_##T(2, x, y), 10) ONE(T, argument, given_##T(x), 9) \
  if (sizeof(T) <= 32) ONE(T, pointer, pointer_##T(5), 5) }
int main(void) { int bad = 0; TYPES(D) return bad != 0; }
END
cat >src/Makefile <<'END'
FLAGS = -O2 -g -w -fPIC
NATIVE = -fsanitize=undefined -fsanitize-trap=undefined
OBJECTS = main.o plain.o chosen.o specific.o throw.o native.o
all: vectors
%.o: %.c ; $(CC) $(FLAGS) $(MARCH) -c -o $@ $<
%.o: %.cpp ; $(CXX) $(FLAGS) $(MARCH) -c -o $@ $<
native.o: native.c ; $(CC) $(FLAGS) $(MARCH) $(NATIVE) -DPREFIX=native_ -DCALLS -c -o $@ $<
libshared.so: native.c ; $(CC) $(FLAGS) $(MARCH) $(NATIVE) -DPREFIX=shared_ -shared -o $@ $<
vectors: $(OBJECTS) libshared.so ; $(CXX) -o $@ $(OBJECTS) -L. -lshared -Wl,-rpath,/usr/local/lib
install: all ; install -D vectors $(DESTDIR)/usr/local/bin/vectors; install -D libshared.so $(DESTDIR)/usr/local/lib/libshared.so
END
cat >src/xaas.json <<'END'
{"name": "vectors", "build": {"system": "make"}, "isa": ["x86-64", "x86-64-v3"], "image": {"entrypoint": ["/usr/local/bin/vectors"]}}
END

grep -qw avx2 /proc/cpuinfo || skip "this CPU has no AVX2"
cp -r src native
make -s -C native CC=clang-22 CXX=clang++-22 MARCH=-march=native
LD_LIBRARY_PATH=native native/vectors >want || fail "native Clang's program is wrong"

"$XAAS" build src -o oci:app:ir -q --format json >build.json
assert_json build.json '[.native_objects[].name] | unique == ["native.o"]'
assert_json build.json '[.warnings[] | select(.kind == "vectors") | .file] | unique == ["chosen.c", "plain.c", "specific.c", "throw.cpp"]'

cpus=(haswell)
if grep -qw avx512bw /proc/cpuinfo; then cpus+=(skylake-avx512); else echo "this CPU has no AVX-512: nothing is deployed for it"; fi
targets=("x86-64 x86-64")
for cpu in "${cpus[@]}"; do targets+=("x86-64 $cpu" "x86-64-v3 $cpu"); done
for target in "${targets[@]}"; do
  read -r level cpu <<<"$target"
  for lto in "" --lto; do
    # shellcheck disable=SC2086 # an option or none
    "$XAAS" deploy oci:app:ir -o oci:app:deployed --set isa="$level" --cpu "$cpu" $lto -q >/dev/null
    rm -rf tree
    "$XAAS" copy oci:app:deployed rootfs:tree -q >/dev/null
    LD_LIBRARY_PATH=tree/usr/local/lib tree/usr/local/bin/vectors >got || { diff want got; fail "$level for $cpu $lto"; }
    cmp got want || fail "$level for $cpu $lto"
  done
done
