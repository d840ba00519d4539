#!/bin/bash
# A deployed program runs on the CPU that it was deployed for and reports it; detection sees the CPU that it runs on.
source "$E2E/lib.sh"
needs jq make clang-22 qemu-x86_64

tiny_choices src
"$XAAS" build src -o oci:app:ir -q
make -s -C src CC=clang-22 CFLAGS=-O2
want=$(src/hello 1 2)
# NAME QEMU: deploys for an LLVM name, runs on qemu's CPU of that kind
check() {
  "$XAAS" deploy oci:app:ir -o "rootfs:$1" --cpu "$1" -q --format json >deploy.json
  expect_equal "on $2" "$(qemu-x86_64 -cpu "$2" -L "$PWD/$1" "$1/usr/local/bin/hello" 1 2 2>err || cat err)" "$want"
}
check haswell Haswell
expect_equal configuration "$(json deploy.json .configuration.isa)" x86-64-v3
check nehalem Nehalem
expect_equal configuration "$(json deploy.json .configuration.isa)" x86-64
check x86-64 qemu64

# On a lesser CPU it reports the missing feature instead of SIGILL; so does a library that another program loads.
refuses() { # QEMU FEATURE PROGRAM...
  local code=0
  qemu-x86_64 -cpu "$1" "${@:3}" >out 2>err || code=$?
  expect_equal "exit code on $1" $code 126
  grep -qE "this CPU lacks .*\b$2\b.*; it was deployed for" err || fail "no word about $2: $(cat err)"
  [ ! -s out ] || fail "it went on: $(cat out)"
}
refuses Nehalem avx -L "$PWD/haswell" haswell/usr/local/bin/hello 1 2
"$XAAS" deploy oci:app:ir -o rootfs:level4 --cpu x86-64-v4 -q >/dev/null
refuses Haswell "avx512f, avx512dq" -L "$PWD/level4" level4/usr/local/bin/hello 1 2
readelf -Wn level4/usr/local/bin/hello | finds 'x86 ISA used: .*x86-64-v4' || fail "no ISA level in the program"

# A library with an initializer that another program loads.
mkdir library
printf 'long twice(long a) { return 2 * a; }\n' >library/twice.c
cat >library/own.c <<'END'
#include <unistd.h>
__attribute__((constructor(0))) static void own(void) { write(1, "own\n", 4); }
END
printf 'libtwice.so: twice.c own.c\n\t$(CC) $(CFLAGS) -shared -fPIC -o $@ twice.c own.c\ninstall: libtwice.so\n\tinstall -D libtwice.so $(DESTDIR)$(PREFIX)/lib/libtwice.so\n' >library/Makefile
echo '{"name": "twice", "build": {"system": "make"}, "isa": ["x86-64"]}' >library/xaas.json
"$XAAS" build library -o oci:twice:ir -q >/dev/null
"$XAAS" deploy oci:twice:ir -o rootfs:twice-haswell --cpu haswell -q >/dev/null
refuses Nehalem avx2 -E "LD_PRELOAD=$PWD/twice-haswell/usr/local/lib/libtwice.so" /bin/true
expect_equal "on a CPU that will do" "$(qemu-x86_64 -cpu Haswell -E "LD_PRELOAD=$PWD/twice-haswell/usr/local/lib/libtwice.so" /bin/true 2>/dev/null)" own

detected() { # QEMU
  qemu-x86_64 -cpu "$1" "$XAAS" detect --format json 2>err || fail "detect on $1: $(cat err)"
}
# QEMU NAME LEVEL HAS LACKS: features, separated by commas
is_detected() {
  detected "$1" >machine.json
  expect_equal "name of $1" "$(json machine.json .cpu.name)" "$2"
  expect_equal "level of $1" "$(json machine.json .cpu.level)" "$3"
  assert_json machine.json "(\"$4\" | split(\",\")) - .cpu.features == []"
  assert_json machine.json "(\"$5\" | split(\",\")) - .cpu.features == (\"$5\" | split(\",\"))"
  assert_json machine.json '.notes == []'
}
is_detected SandyBridge sandybridge x86-64-v2 sse4.2,avx,pclmul,aes avx2,fma,bmi2,movbe
is_detected Haswell haswell x86-64-v3 avx,avx2,fma,bmi,bmi2,movbe,lzcnt avx512f,sha,sse4a
is_detected EPYC znver1 x86-64-v3 avx2,fma,sse4a,clflushopt avx512f,fma4,vaes
# A hidden feature also removes the level and every feature that implies it; the CPU's name stays.
is_detected Haswell,-movbe haswell x86-64-v2 avx2,fma movbe
is_detected EPYC,-avx znver1 x86-64-v2 sse4.2,sse4a avx,avx2,fma,f16c
is_detected Nehalem nehalem x86-64-v2 sse4.2,popcnt avx,aes,xsave
"$XAAS" deploy oci:app:ir -o rootfs:detected --system machine.json -q
expect_equal "by description" "$(qemu-x86_64 -cpu Nehalem -L "$PWD/detected" detected/usr/local/bin/hello 1 2)" "$want"
