#!/bin/bash
# Profile-guided deploys: programs with counters, a training run, deploys by its profile. What was counted for one CPU fits another
# one, threads lose no counts, libraries have counters of their own, and results stay the same.
source "$E2E/lib.sh"
needs jq perl cmake ninja clang-22 clang++-22 llvm-profdata-22 llvm-objdump-22
[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"

mkdir src
cat >src/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.20)
project(counts C CXX)
find_package(Threads REQUIRED)
add_library(steps SHARED steps.c)
add_library(more STATIC more.cpp unused.c)
add_executable(counts main.cpp)
target_link_libraries(counts steps more)
add_executable(threads threads.c)
target_link_libraries(threads Threads::Threads)
install(TARGETS counts threads steps)
EOF
cat >src/steps.c <<'EOF'
static int seldom(int a) { return a * 31 + 7; } /* of this file alone */
int steps(const int *values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i)
    sum += values[i] % 97 == 0 ? seldom(values[i]) : values[i];
  return sum;
}
typedef int step_function(int);
step_function *volatile step = seldom; /* always the same one */
int stepped(int a) { return step(a); }
int idle(const int *values, int count) { /* which no training run calls */
  int sum = 0;
  for (int i = 0; i < count; ++i)
    sum += __builtin_expect(values[i] > 5, 1) ? values[i] * 3 : seldom(values[i]);
  return sum;
}
EOF
cat >src/more.cpp <<'EOF'
#include <stdexcept>
int more(int a) {
  if (a < 0)
    throw std::runtime_error("negative");
  return a + 1;
}
EOF
echo 'int unused(void) { return 1; }' >src/unused.c
cat >src/main.cpp <<'EOF'
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
extern "C" int steps(const int *values, int count);
extern "C" int stepped(int a);
int more(int);
struct Last {
  ~Last() { std::puts("last"); }
} last;
int main(int argc, char **argv) {
  std::vector<int> values(1000);
  for (int i = 0; i < 1000; ++i)
    values[i] = i * 7919;
  int sum = stepped(3);
  for (int i = 0; i < (argc > 1 ? std::atoi(argv[1]) : 100); ++i)
    sum += steps(values.data(), 1000);
  try {
    sum += more(-1);
  } catch (const std::runtime_error &) {
    sum += more(1);
  }
  std::printf("%d\n", sum);
}
EOF
cat >src/threads.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) int step(int a) { return a % 3 ? a + 1 : a; }
static void *work(void *unused) {
  int a = 0;
  for (int i = 0; i < 200000; ++i)
    a = step(a);
  return a ? unused : 0;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], 0);
  puts("done");
}
EOF
echo '{"name": "counts", "build": {"system": "cmake"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/counts"]}}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q >/dev/null
run() { "$1/lib64/ld-linux-x86-64.so.2" --library-path "$1/usr/lib/x86_64-linux-gnu:$1/usr/local/lib" "$1/usr/local/bin/$2" "${@:3}"; }
deploy() { "$XAAS" deploy oci:app:ir -o "$@" -q; }

deploy rootfs:plain >/dev/null
deploy rootfs:train --profile-generate --cpu x86-64 --format json >train.json
assert_json train.json '.counts and .profile == null'
expect_equal "trained" "$(LLVM_PROFILE_FILE="$PWD/counts-%p-%h.profraw" run train counts 50)" "$(run plain counts 50)"
expect_equal "files, of program and library" "$(find . -maxdepth 1 -name 'counts-*.profraw.*' | wc -l)" 2
LLVM_PROFILE_FILE="$PWD/counts-threads.profraw" run train threads >/dev/null
mkdir counts
mv counts-*.profraw.* counts/
llvm-profdata-22 merge counts/* -o llvms && llvm-profdata-22 show llvms >shown # LLVM's own tool reads them
grep -q 'Instrumentation level: IR' shown || fail "$(cat shown)"
llvm-profdata-22 show --ic-targets --function=stepped llvms >shown # the target of the call through a pointer
grep -q 'seldom' shown || fail "$(cat shown)"
# A damaged file is counts or an error, never a crash.
file=$(find counts -type f | sort | head -1)
for at in $(seq 1 40); do
  cp "$file" damaged
  perl -e 'open(my $f, "+<:raw", "damaged"); my $at = int($ARGV[0] * (-s "damaged") / 41); seek($f, $at, 0); print $f chr(255 - $ARGV[0])' "$at"
  code=0
  "$XAAS" profile show damaged --format json >/dev/null 2>damaged.err || code=$?
  [ $code -eq 0 ] || [ $code -eq 7 ] || fail "exit $code for a profile that is damaged at $at: $(cat damaged.err)"
done
"$XAAS" profile show counts --format json >show.json
assert_json show.json '.ran >= 6 and ([.top[] | select(.name == "steps") | .most] | length == 1 and .[0] >= 49000)'
assert_json show.json '[.top[].name] | any(. == "main")'
"$XAAS" profile merge counts -o merged -q
expect_equal "digest" "sha256:$(sha256sum <merged | cut -d' ' -f1)" "$(jq -r .digest show.json)"

# Counted for x86-64, used for others, with and without LTO; once from the merged file.
for options in "" "--lto" "--cpu haswell" "--cpu haswell --no-cache"; do
  rm -rf fast
  # shellcheck disable=SC2086 # several words
  deploy rootfs:fast --profile counts $options --format json >fast.json
  assert_json fast.json '.profile.matched == .profile.functions and .profile.functions >= 5 and (.counts | not)'
  [[ $options = *haswell* ]] || expect_equal "with a profile $options" "$(run fast counts 50)" "$(run plain counts 50)"
done
deploy oci:out:one --profile counts --cpu haswell --format json >one.json
deploy oci:out:two --profile merged --cpu haswell -j 1 --no-cache --format json >two.json
expect_equal "digest by merged and by single profiles" "$(jq -r .digest one.json)" "$(jq -r .digest two.json)"
deploy oci:out:none --cpu haswell --format json >none.json
[ "$(jq -r .digest none.json)" != "$(jq -r .digest one.json)" ] || fail "the profile changes nothing"
# A function that never ran is as without a profile; with --cold-for-size it is not.
code_of_idle() { llvm-objdump-22 -d --no-show-raw-insn --no-leading-addr --disassemble-symbols=idle "$1/usr/local/lib/libsteps.so" |
  sed -n '/^<idle>/,$p' | sed -E 's/0x[0-9a-f]+ //; s/<[^>]*>//; s/[[:space:]]*#.*//; s/-?0x[0-9a-f]+\(%rip\)/DATA/'; }
for kind in none "profile --profile counts" "size --profile counts --cold-for-size"; do
  read -ra words <<<"$kind"
  deploy "rootfs:idle-${words[0]}" --no-cache --cpu haswell "${words[@]:1}" >/dev/null
done
expect_equal "a function that never ran" "$(code_of_idle idle-profile)" "$(code_of_idle idle-none)"
[ "$(code_of_idle idle-size | wc -l)" -lt "$(code_of_idle idle-none | wc -l)" ] || fail "--cold-for-size does not make it smaller"
deploy oci:out:size --profile counts --cold-for-size --cpu haswell --format json >size.json
[ "$(jq -r .digest size.json)" != "$(jq -r .digest one.json)" ] || fail "--cold-for-size changes nothing"
[ "$(jq -r .modules.cached size.json)" = 0 ] || fail "objects of another kind were taken: $(cat size.json)"
expect_exit 2 deploy oci:out:no --cold-for-size
"$XAAS" inspect oci:out:one --format json >inspect.json
assert_json inspect.json '.profile | startswith("sha256:")'
"$XAAS" inspect oci:out:none --format json >inspect.json
assert_json inspect.json '.profile == null'

# With LTO, and from modules as the front end made them.
deploy rootfs:train-lto --profile-generate --lto --cpu x86-64 >/dev/null
LLVM_PROFILE_FILE="$PWD/lto.profraw" run train-lto counts 50 >/dev/null
"$XAAS" build src --ir raw -o oci:raw:ir -q >/dev/null
"$XAAS" deploy oci:raw:ir -o rootfs:train-raw --profile-generate --cpu x86-64 -q >/dev/null
mkdir raw-counts
LLVM_PROFILE_FILE="$PWD/raw-counts/raw.profraw" run train-raw counts 50 >/dev/null
mkdir lto-counts
mv lto.profraw.* lto-counts/
"$XAAS" deploy oci:app:ir -o rootfs:fast-lto --profile lto-counts -q --format json >fast.json
assert_json fast.json '.profile.matched >= 5'
"$XAAS" deploy oci:raw:ir -o rootfs:fast-raw --profile raw-counts -q --format json >fast.json
assert_json fast.json '.profile.matched >= 5'
for tree in fast-lto fast-raw; do expect_equal "$tree" "$(run $tree counts 50)" "$(run plain counts 50)"; done

# Four threads, one counter: none of its 800,000 counts is lost, but for those that follow from others.
LLVM_PROFILE_FILE="$PWD/threads.profraw.%m" run train threads >/dev/null
"$XAAS" profile show threads.profraw.* --format json >show.json
assert_json show.json '.top[] | select(.name == "work" or (.name | endswith(";work")) or .name == "step") | .most >= 799990 and .most <= 800010'

# `xaas run` makes the directory, and each run a file.
if command -v bwrap >/dev/null && bwrap --dev-bind / / true 2>/dev/null; then
  deploy oci:app:train --profile-generate >/dev/null
  for _ in 1 2; do "$XAAS" run -q --runtime bwrap --profile made oci:app:train -- 10 >/dev/null; done
  expect_equal "files of two runs" "$(find made -type f | wc -l)" 4
  deploy oci:app:fast --profile made --format json >fast.json
  assert_json fast.json '.profile.matched >= 5' # of one of the programs
else
  echo "not tested: xaas run --profile, because bwrap does not work here"
fi

# AArch64: the same IR for all its CPUs; counters run under emulation.
if command -v qemu-aarch64 >/dev/null && [ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] && [ -e /usr/lib/gcc-cross/aarch64-linux-gnu ]; then
  "$XAAS" build src --arch aarch64 -o oci:arm-images:ir -q >/dev/null
  "$XAAS" deploy oci:arm-images:ir -o rootfs:arm --cpu cortex-a72 --profile-generate -q >/dev/null
  LLVM_PROFILE_FILE=$PWD/arm.profraw.%m qemu-aarch64 -L arm -E LD_LIBRARY_PATH=/usr/local/lib arm/usr/local/bin/counts 20 >/dev/null
  "$XAAS" profile merge arm.profraw.* -o arm.merged -q >/dev/null
  "$XAAS" deploy oci:arm-images:ir -o oci:arm-images:fast --cpu neoverse-v1 --profile arm.merged -q --format json >fast.json
  assert_json fast.json '.profile.matched >= 4'
fi

# Beside the image.
expect_error 4 'no profile is attached' deploy oci:out:auto --profile auto --cpu haswell
"$XAAS" profile attach counts --image oci:app:ir -q --format json >attach.json
assert_json attach.json '.attached | startswith("sha256:")'
deploy oci:out:auto --profile auto --cpu haswell --format json >auto.json
expect_equal "digest by an attached profile" "$(jq -r .digest auto.json)" "$(jq -r .digest one.json)"
expect_exit 2 "$XAAS" profile attach counts
expect_exit 2 "$XAAS" profile show counts --image oci:app:ir

# Libraries with the same functions in one process, and one that is loaded again: each leaves a file. What --gc-sections removes
# needs no definitions.
mkdir libraries
cat >libraries/Makefile <<'END'
CFLAGS = -O2 -fPIC -ffunction-sections
all: loader one.so two.so
%.so: library.c
	$(CC) $(CFLAGS) -DTIMES=$(if $(filter one,$*),3,5) -shared $< -o $@
loader: loader.c dead.c
	$(CC) $(CFLAGS) -Wl,--gc-sections $^ -ldl -o $@
install: all
	install -D -t $(DESTDIR)/usr/local/bin loader
	install -D -t $(DESTDIR)/usr/local/lib one.so two.so
END
echo 'int run(int count) { int sum = 0; for (volatile int i = 0; i < count; ++i) sum += i * TIMES; return sum; }' >libraries/library.c
echo 'void nowhere(void); void dead(void) { nowhere(); }' >libraries/dead.c
cat >libraries/loader.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names) {
  for (int i = 1; i < count; ++i) {
    void *library = dlopen(names[i], RTLD_NOW);
    if (!library)
      return 1;
    printf("%d\n", ((int (*)(int))dlsym(library, "run"))(1000));
    dlclose(library);
  }
}
END
echo '{"name": "libraries", "build": {"system": "make"}, "isa": []}' >libraries/xaas.json
"$XAAS" build libraries -o oci:images:libraries -q >/dev/null
"$XAAS" deploy oci:images:libraries -o rootfs:libraries-tree --profile-generate -q >/dev/null
mkdir loaded
places=$PWD/libraries-tree/usr/local/lib
LLVM_PROFILE_FILE=$PWD/loaded/%m-%p.profraw run libraries-tree loader "$places/one.so" "$places/two.so" "$places/one.so" >stdout
expect_equal "files of a loader and three libraries" "$(find loaded -type f | wc -l)" 4
"$XAAS" profile show loaded --format json >show.json
assert_json show.json '[.top[] | select(.name == "run") | .most] | length == 1 and .[0] >= 2997 and .[0] <= 3003'

# A profile has all functions of a header in common with another program, in each of its files, and no other.
mkdir header
cat >header/Makefile <<'END'
users: user1.cpp user2.cpp user3.cpp user4.cpp user5.cpp main.cpp
	$(CXX) -O2 -DUSER=$(USER) $^ -o $@
install: users
	install -D users $(DESTDIR)/usr/local/bin/users
END
cat >header/all.h <<'END'
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
__attribute__((noinline)) inline int of_all(int a) {
  int sum = 0;
  for (; a > 1; a = a % 2 ? a * 3 + 1 : a / 2)
    sum += a;
  return sum;
}
END
for i in 1 2 3 4 5; do
  printf '#include "all.h"\nint JOIN(USER, %d)(int a) { return a > %d ? of_all(a) : a; }\n' $i $i >header/user$i.cpp
done
cat >header/main.cpp <<'END'
#include "all.h"
int JOIN(USER, 1)(int), JOIN(USER, 2)(int), JOIN(USER, 3)(int), JOIN(USER, 4)(int), JOIN(USER, 5)(int);
int main(int count, char **) {
  return JOIN(USER, 1)(count) + JOIN(USER, 2)(count) + JOIN(USER, 3)(count) + JOIN(USER, 4)(count) + JOIN(USER, 5)(count) - 5;
}
END
for user in mine yours; do
  echo '{"name": "header", "build": {"system": "make", "arguments": ["USER='$user'"]}, "isa": []}' >header/xaas.json
  "$XAAS" build header -o oci:images:$user -q >/dev/null
  "$XAAS" deploy oci:images:$user -o rootfs:header-$user --profile-generate -q >/dev/null
  LLVM_PROFILE_FILE=$PWD/header-$user.profraw.%m run header-$user users
done
expect_error 3 'has counts of 7 functions, of which 2 fit' "$XAAS" deploy oci:images:mine -o oci:out:no --profile header-yours.profraw.* -q
"$XAAS" deploy oci:images:mine -o oci:out:header --profile header-mine.profraw.* -q --format json >header.json
assert_json header.json '.profile.functions == 7 and .profile.matched == 7'

# The loop runs three times on average. There is vector code for long runs, but none with masks for short ones.
mkdir short
cat >short/short.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) void scale(float *values, float by, int count) {
  for (int i = 0; i < count; ++i)
    values[i] /= by;
}
int main(int count, char **arguments) {
  float values[3] = {1, 2, 3};
  for (int i = 0; i < 1000; ++i)
    scale(values, count, count > 1 ? atoi(arguments[1]) : 3);
  return values[0] != 1;
}
END
printf 'short: short.c\n\t$(CC) -O3 short.c -o short\ninstall: short\n\tinstall -D short $(DESTDIR)/usr/local/bin/short\n' >short/Makefile
echo '{"name": "short", "build": {"system": "make"}, "isa": []}' >short/xaas.json
"$XAAS" build short -o oci:images:short -q >/dev/null
"$XAAS" deploy oci:images:short -o rootfs:short-train --profile-generate --cpu x86-64 -q >/dev/null
LLVM_PROFILE_FILE=$PWD/short.profraw.%m run short-train short
for options in "" "--lto"; do
  rm -rf short-fast
  # shellcheck disable=SC2086 # several words
  "$XAAS" deploy oci:images:short -o rootfs:short-fast --profile short.profraw.* --cpu x86-64-v4 -q $options >/dev/null
  llvm-objdump-22 -d --disassemble-symbols=scale short-fast/usr/local/bin/short >code
  finds 'vdivps' <code || fail "scale() is not vectorized: $(cat code)"
  if finds '{%k' <code; then fail "scale() has masks: $(cat code)"; fi
done

# Files that are not profiles, and a profile of another program.
mkdir other empty
echo 'int one(int a) { return a % 3 ? a : 1; } int two(int a) { return a > 7 ? one(a) : 2; } int main(int count, char **arguments) { return arguments[0] ? two(count) - 2 : 1; }' >other/main.c
printf 'other: main.c\n\t$(CC) -o $@ main.c\ninstall: other\n\tinstall -D other $(DESTDIR)$(PREFIX)/bin/other\n' >other/Makefile
echo '{"name": "other", "build": {"system": "make"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/other"]}}' >other/xaas.json
"$XAAS" build other -o oci:foreign:ir -q >/dev/null
"$XAAS" deploy oci:foreign:ir -o rootfs:foreign-tree --profile-generate -q >/dev/null
LLVM_PROFILE_FILE=$PWD/foreign.profraw.%m run foreign-tree other
expect_error 3 'the profile has counts of' deploy oci:out:no --profile foreign.profraw.*
expect_error 4 'no profile is in this directory' deploy oci:out:no --profile empty
expect_error 7 'src/main.cpp' deploy oci:out:no --profile src/main.cpp
expect_exit 2 deploy oci:out:no --profile counts --profile-generate
expect_exit 2 "$XAAS" profile merge counts
LLVM_PROFILE_FILE=/nowhere/at/all run train counts 1 >stdout 2>err || fail "a program fails where its profile cannot be written"
grep -q '^xaas: the profile cannot be written: /nowhere/at/all' err || fail "no word about the profile: $(cat err)"
