#!/bin/bash
# An IR image for AArch64, built here with a cross C library and deployed for CPUs with and without SVE: each gets its
# instructions, runs under emulation with the same results, and `xaas check` knows what it needs.
source "$E2E/lib.sh"
needs jq skopeo cmake ninja meson autoreconf clang-22 clang++-22 qemu-aarch64
[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] && [ -e /usr/lib/gcc-cross/aarch64-linux-gnu ] ||
  skip "no C library for AArch64 here (libc6-dev-arm64-cross, libstdc++-12-dev-arm64-cross)"
[ "$(uname -m)" = x86_64 ] || skip "this machine is no other architecture"

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(vectors C CXX)
option(VECTORS_NEON "Intrinsics of NEON" OFF)
add_library(kernels SHARED kernels.c)
if(VECTORS_NEON)
  target_compile_definitions(kernels PRIVATE VECTORS_NEON)
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" OR NOT CMAKE_CROSSCOMPILING)
  message(FATAL_ERROR "this is no build for AArch64")
endif()
add_executable(vectors main.cpp)
target_link_libraries(vectors kernels)
install(TARGETS vectors kernels)
END
cat >src/kernels.c <<'END'
#ifdef VECTORS_NEON
#include <arm_neon.h>
#endif
void scale(float *restrict out, const float *restrict in, int count) {
  int i = 0;
#ifdef VECTORS_NEON
  for (; i + 4 <= count; i += 4)
    vst1q_f32(out + i, vmulq_n_f32(vld1q_f32(in + i), 3.0f));
#endif
  for (; i < count; ++i)
    out[i] = in[i] * 3.0f;
}
int total(const int *values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i)
    sum += values[i] > 3 ? values[i] : 1;
  return sum;
}
#include <arm_sve.h>
__attribute__((target("+sve2"))) long chosen(const int *values) {
  return svaddv_s32(svptrue_b32(), svld1_s32(svptrue_b32(), values));
}
END
cat >src/main.cpp <<'END'
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>
extern "C" void scale(float *out, const float *in, int count);
extern "C" int total(const int *values, int count);
static thread_local int calls;
int main() {
  std::vector<float> in(1000, 1.5f), out(1000);
  scale(out.data(), in.data(), 1000);
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 0);
  ++calls;
  try {
    throw std::runtime_error("caught");
  } catch (const std::exception &error) {
    std::printf("%.1f %d %d %s\n", std::accumulate(out.begin(), out.end(), 0.0f), total(values.data(), 1000), calls, error.what());
  }
}
END
cat >src/xaas.json <<'END'
{"name": "vectors", "build": {"system": "cmake"}, "isa": [],
 "specializations": [{"name": "simd", "category": "cpu", "default": "none",
   "values": [{"value": "none", "arguments": ["-DVECTORS_NEON=OFF"]},
              {"value": "neon", "arguments": ["-DVECTORS_NEON=ON"], "requires": {"cpu": ["neon"]}}]}],
 "image": {"entrypoint": ["/usr/local/bin/vectors"]}}
END
"$XAAS" build src --arch aarch64 -o oci:app:ir -q >/dev/null
"$XAAS" inspect oci:app:ir --format json >inspect.json
assert_json inspect.json '.arch == "aarch64" and .sharing.units == 4 and .sharing.modules == 3 and .sharing.prepared >= 2'
expect_equal "architecture" "$(skopeo inspect --raw --config oci:app:ir | jq -r .architecture)" arm64

run() { qemu-aarch64 -cpu "$2" -L "$1" -E LD_LIBRARY_PATH=/usr/local/lib "$1/usr/local/bin/vectors"; }
uses() { llvm-objdump-22 -d --mattr=+sve2 "$1/usr/local/lib/libkernels.so" --disassemble-symbols="$2" | grep -c "$3" || true; }
for cpu in cortex-a72 neoverse-v1 neoverse-v2; do
  "$XAAS" deploy oci:app:ir -o rootfs:$cpu --cpu $cpu --set simd=none -q >/dev/null
  "$XAAS" deploy oci:app:ir -o oci:app:$cpu --cpu $cpu -q --format json >$cpu.json
  assert_json $cpu.json '.configuration == {simd: "neon"}'
  "$XAAS" check oci:app:$cpu --cpu $cpu -q --format json >check.json
  assert_json check.json '.runs and .deployed_for == "'$cpu'"'
  expect_equal "$cpu" "$(run $cpu max)" "4500.0 499498 1 caught"
  [ "$(uses $cpu chosen 'z[0-9]')" -gt 0 ] || fail "$cpu: a function's own target attribute is lost"
done
expect_equal "SVE for cortex-a72" "$(uses cortex-a72 total 'z[0-9]')" 0
expect_equal "cortex-a72 there" "$(run cortex-a72 cortex-a72)" "4500.0 499498 1 caught"
[ "$(uses neoverse-v1 total 'z[0-9]')" -gt 0 ] || fail "no SVE for neoverse-v1"
"$XAAS" deploy oci:app:ir -o rootfs:lto --cpu neoverse-v1 --lto -q >/dev/null
expect_equal "with LTO" "$(run lto max)" "4500.0 499498 1 caught"

# On a lesser CPU it reports the missing features instead of SIGILL; so does a library that another program loads.
refuses() { # FEATURE PROGRAM...: of the guard
  local code=0
  "${@:2}" >out 2>err || code=$?
  expect_equal "exit code" $code 126
  grep -qE "this CPU lacks .*\b$1\b.*; it was deployed for neoverse-v1" err || fail "no word about $1: $(cat err)"
  [ ! -s out ] || fail "it went on: $(cat out)"
}
refuses "lse, .*, sve" qemu-aarch64 -cpu cortex-a72 -L neoverse-v1 -E LD_LIBRARY_PATH=/usr/local/lib neoverse-v1/usr/local/bin/vectors
refuses sve qemu-aarch64 -cpu cortex-a72 -L cortex-a72 -E LD_LIBRARY_PATH="$PWD/neoverse-v1/usr/local/lib" cortex-a72/usr/local/bin/vectors

# One tree for several targets, whose programs ask the CPU.
"$XAAS" deploy oci:app:ir -o rootfs:tree --cpu cortex-a72,a64fx,neoverse-v2 -q >/dev/null
program=tree/usr/local/bin/vectors
chosen() { qemu-aarch64 -cpu "$1" -E XAAS_TARGET="${2:-print}" -L tree $program 2>&1 || true; }
expect_equal "on Neoverse N1" "$(chosen neoverse-n1)" "cortex-a72 $PWD/tree/.xaas/targets/cortex-a72/usr/local/bin/vectors"
expect_equal "on A64FX" "$(chosen a64fx)" "a64fx $PWD/tree/.xaas/targets/a64fx/usr/local/bin/vectors"
expect_equal "on a CPU with everything" "$(chosen max | cut -d' ' -f1)" neoverse-v2
"$XAAS" deploy oci:app:ir -o rootfs:new --cpu neoverse-v1,neoverse-v2 -q >/dev/null
code=0
qemu-aarch64 -cpu cortex-a57 -L new new/usr/local/bin/vectors >out 2>err || code=$?
expect_equal "exit code on a CPU that no target fits" $code 126
grep -q 'no target has this program for this CPU: neoverse-v2 needs .* and others; neoverse-v1 needs ' err || fail "no word about the targets: $(cat err)"
# The launcher hands over to the kernel, which may not know how to start a program for AArch64.
started=$(chosen neoverse-n1 cortex-a72)
[[ $started = "4500.0 499498 1 caught" || $started = *cortex-a72/usr/local/bin/vectors": the kernel does not know its format" ]] ||
  fail "the launcher starts something else: $started"

# The same from modules as the front end made them.
"$XAAS" build src --arch aarch64 --ir raw -o oci:app:raw -q
for cpu in cortex-a72 neoverse-v1; do
  "$XAAS" deploy oci:app:raw -o rootfs:raw-$cpu --cpu $cpu --set simd=none -q >/dev/null
  expect_equal "raw for $cpu" "$(run raw-$cpu max)" "4500.0 499498 1 caught"
  [ "$(uses raw-$cpu chosen 'z[0-9]')" -gt 0 ] || fail "$cpu: a function's own target attribute is lost in the raw module"
done
expect_equal "SVE for cortex-a72" "$(uses raw-cortex-a72 total 'z[0-9]')" 0
[ "$(uses raw-neoverse-v1 total 'z[0-9]')" -gt 0 ] || fail "no SVE for neoverse-v1 from the raw module"

expect_exit 3 "$XAAS" check oci:app:neoverse-v1 --cpu cortex-a72 -q
expect_exit 3 "$XAAS" deploy oci:app:ir -o oci:app:none --cpu haswell -q

# The other build systems know the target architecture.
mkdir tools
cat >tools/main.c <<'END'
#include <stdio.h>
int main(void) { return puts("four") < 0; }
END
cat >tools/meson.build <<'END'
project('tools', 'c')
assert(meson.is_cross_build() and host_machine.cpu_family() == 'aarch64', 'this is no build for AArch64')
executable('tools', 'main.c', install: true)
END
cat >tools/configure.ac <<'END'
AC_INIT([tools], [1])
AC_CANONICAL_HOST
AC_CONFIG_AUX_DIR([build-aux])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AS_IF([test "$host_cpu $cross_compiling" = "aarch64 yes"], [], [AC_MSG_ERROR([this is no build for AArch64])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
END
printf 'bin_PROGRAMS = tools\ntools_SOURCES = main.c\n' >tools/Makefile.am
for system in meson autotools; do
  printf '{"name": "tools", "build": {"system": "%s"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/tools"]}}\n' $system >tools/xaas.json
  "$XAAS" build tools --arch aarch64 -o oci:tools-$system:ir -q >/dev/null
  "$XAAS" deploy oci:tools-$system:ir -o rootfs:tools-rootfs-$system --cpu cortex-a72 -q >/dev/null
  expect_equal "$system" "$(qemu-aarch64 -L tools-rootfs-$system tools-rootfs-$system/usr/local/bin/tools)" four
done

# A sysroot: its headers, libraries and packages are used, wherever it lies, and nothing of this machine in their place.
mkdir -p system/usr/lib/gcc system/usr/share
cp -r /usr/aarch64-linux-gnu/include system/usr/include
cp -r /usr/aarch64-linux-gnu/lib system/usr/lib/aarch64-linux-gnu
cp -r /usr/lib/gcc-cross/aarch64-linux-gnu system/usr/lib/gcc/aarch64-linux-gnu
grep -lIZ '^GROUP' system/usr/lib/aarch64-linux-gnu/*.so | xargs -0 sed -i 's#/usr/aarch64-linux-gnu/lib/#/usr/lib/aarch64-linux-gnu/#g'
mkdir system/lib
ln -s ../usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1 system/lib/
echo 'int answer(void);' >system/usr/include/answer.h
echo 'int answer(void) { return 42; }' |
  clang-22 --target=aarch64-linux-gnu -fuse-ld=lld -nostdlib -shared -Wl,-soname,libanswer.so.1 -x c - -o system/usr/lib/aarch64-linux-gnu/libanswer.so.1
ln -s libanswer.so.1 system/usr/lib/aarch64-linux-gnu/libanswer.so
mkdir system/usr/lib/aarch64-linux-gnu/pkgconfig
printf 'Name: answer\nDescription: x\nVersion: 1\nLibs: -L/usr/lib/aarch64-linux-gnu -lanswer\nCflags: -I/usr/include\n' >system/usr/lib/aarch64-linux-gnu/pkgconfig/answer.pc
mkdir -p answers/include
cat >answers/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(answers C)
find_path(ANSWER_HEADERS answer.h REQUIRED)
find_path(OWN_HEADERS own.h HINTS ${CMAKE_SOURCE_DIR}/include REQUIRED)
find_library(ANSWER answer REQUIRED)
find_program(SH sh REQUIRED)
add_executable(answers main.c)
target_include_directories(answers PRIVATE ${ANSWER_HEADERS} ${OWN_HEADERS})
target_compile_options(answers PRIVATE -g)
target_link_libraries(answers ${ANSWER})
install(TARGETS answers)
END
echo '#define FORMAT "%d"' >answers/include/own.h
cat >answers/main.c <<'END'
#include <answer.h>
#include <own.h>
#include <stdio.h>
int main(void) { return printf(FORMAT, answer()) < 0; }
END
cat >answers/meson.build <<'END'
project('answers', 'c')
executable('answers', 'main.c', dependencies: dependency('answer'), include_directories: 'include', install: true)
END
cat >answers/Makefile <<'END'
answers: main.c
	$(CC) -Iinclude -o $@ main.c $$(pkg-config --cflags --libs answer)
install: answers
	install -D answers $(DESTDIR)$(PREFIX)/bin/answers
END
for system in cmake meson make; do
  printf '{"name": "answers", "build": {"system": "%s"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/answers"]}}\n' $system >answers/xaas.json
  "$XAAS" build answers --arch aarch64 --sysroot system -o oci:answers-$system:ir -q >/dev/null
  "$XAAS" deploy oci:answers-$system:ir -o rootfs:answers-tree-$system --cpu cortex-a72 -q >/dev/null
  expect_equal "$system with a sysroot" "$(qemu-aarch64 -L answers-tree-$system answers-tree-$system/usr/local/bin/answers)" 42
  cmp system/usr/lib/aarch64-linux-gnu/libanswer.so.1 "$(find answers-tree-$system -name libanswer.so.1)" || fail "not the sysroot's library"
done
sed -i 's/make/cmake/' answers/xaas.json
digest() { skopeo inspect --raw "$1" | sha256sum; }
mv system elsewhere
"$XAAS" build answers --arch aarch64 --sysroot elsewhere -o oci:answers-moved:ir -q >/dev/null
expect_equal "image with the sysroot at another place" "$(digest oci:answers-moved:ir)" "$(digest oci:answers-cmake:ir)"
expect_exit 4 "$XAAS" build answers --arch aarch64 --sysroot system -o oci:none:ir -q
expect_exit 4 "$XAAS" build answers --arch aarch64 --sysroot answers -o oci:none:ir -q
expect_exit 2 "$XAAS" build answers --arch aarch64,x86_64 --sysroot elsewhere -o oci:none:ir -q
ln -s /usr/lib/aarch64-linux-gnu/libanswer.so elsewhere/usr/lib/aarch64-linux-gnu/libother.so
expect_error 2 'libother.so is an absolute link' "$XAAS" build answers --arch aarch64 --sysroot elsewhere -o oci:none:ir -q
