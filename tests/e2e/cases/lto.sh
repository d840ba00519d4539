#!/bin/bash
# Deploying with LTO: calls into other files and archives become part of the program; an installed object stays an object;
# units whose options or assembly LTO cannot carry take no part and are reported. Same results, same digest.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 objdump

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(parts C)
set(CMAKE_BUILD_TYPE Release)
add_library(inner STATIC inner.c unused.c)
add_library(outer SHARED outer.c)
add_library(public STATIC public.c)
add_executable(parts main.c directive.c slow.c table.c)
set_source_files_properties(slow.c PROPERTIES COMPILE_OPTIONS -O0)
target_link_libraries(parts inner outer public)
install(TARGETS parts outer public)
END
cat >src/main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
extern int started;
int inner(int), outer(int), public_part(int), directive(void), slow(int);
int main(int argc, char **argv) {
  int sum = 0;
  (void)argv;
  for (int i = 0; i < 100 * argc; ++i)
    sum += inner(i) ^ outer(i) ^ public_part(i) ^ slow(i);
  printf("%d %d %d\n", sum, directive(), started);
  return 0;
}
END
printf 'int inner(int a) { return a * 3 + 1; }\n' >src/inner.c
printf 'int unused(int a) { return a; }\n' >src/unused.c
printf 'static int part(int a) { return a / 3; }\nint outer(int a) { return part(a) + 5; }\n' >src/outer.c
printf 'int public_part(int a) { return a * 7; }\n' >src/public.c
# Only the section keeps `entry`; no symbol refers to it.
printf 'int started;\nstatic void start(void) { started = 8; }\nvoid (*entry)(void) __attribute__((section(".init_array"))) = start;\n' >src/table.c
printf 'int slow(int a) { return a + 2; }\n' >src/slow.c
printf '__asm__(".globl place\\n.section .rodata\\nplace: .long 42\\n.text");\nextern const int place;\nint directive(void) { return place; }\n' \
  >src/directive.c
cat >src/xaas.json <<'END'
{"name": "parts", "build": {"system": "cmake"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/parts"]}}
END
"$XAAS" build src -o oci:app:ir -q >/dev/null

"$XAAS" deploy oci:app:ir -o oci:app:plain -q --format json >plain.json
assert_json plain.json '.lto == null'
"$XAAS" deploy oci:app:ir -o oci:app:lto --lto -q --format json >lto.json
# public.c is an object for the installed archive, which the first deploy made, and bitcode for the program.
assert_json lto.json '.lto == {units: 5, without: {"option -O0": 1, "inline assembly with more than instructions, an ifunc, or -fshort-wchar": 1}}'
assert_json lto.json '.modules == {lowered: 6, cached: 2, unneeded: 1}'
"$XAAS" deploy oci:app:ir -o oci:app:again --lto -j1 -q --format json >again.json
assert_json again.json '.modules == {lowered: 0, cached: 8, unneeded: 1}'
"$XAAS" deploy oci:app:ir -o oci:app:fresh --lto -j2 --no-cache -q >/dev/null
for tag in again fresh; do
  expect_equal "digest of $tag" "$(image_digest app $tag)" "$(image_digest app lto)"
done
"$XAAS" deploy oci:app:ir -o oci:app:unlike --no-cache -q >/dev/null
expect_equal "digest without LTO" "$(image_digest app unlike)" "$(image_digest app plain)"

"$XAAS" deploy oci:app:ir -o rootfs:lto --lto -q >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:plain -q >/dev/null
run() { "$1/lib64/ld-linux-x86-64.so.2" --library-path "$1/lib/x86_64-linux-gnu:$1/usr/lib/x86_64-linux-gnu:$1/usr/local/lib" "$1/usr/local/bin/parts"; }
expect_equal "output" "$(run lto)" "$(run plain)"
expect_equal "started" "$(run lto | cut -d" " -f3)" 8
called() { objdump -d --no-show-raw-insn --disassemble=main "$1/usr/local/bin/parts" | sed -n 's/.*call .*<\(.*\)>$/\1/p' | grep -x -e inner -e public_part -e slow | sort -u | xargs; }
expect_equal "calls of main" "$(called plain)" "inner public_part slow"
expect_equal "calls of main with LTO" "$(called lto)" "slow"
cmp lto/usr/local/lib/libpublic.a plain/usr/local/lib/libpublic.a || fail "an installed archive has something else in it"
"$XAAS" deploy --help | finds -- --lto || fail "--help knows no --lto"
