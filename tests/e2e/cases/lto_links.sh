#!/bin/bash
# Symbol options of a link hold with LTO: --wrap, --defsym, --exclude-libs, version scripts, --whole-archive, `ld -r`,
# symbol aliases, weak definitions, thread-local variables, initializers across files. Programs that share objects compile
# them once, without changing a byte.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 clang++-22 nm

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(links C CXX)
set(CMAKE_BUILD_TYPE Release)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_library(hidden STATIC hidden.c)
add_library(registered STATIC registered.c)
add_library(versioned SHARED versioned.c)
target_link_libraries(versioned hidden)
target_link_options(versioned PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/versioned.map -Wl,--exclude-libs,ALL)
set_target_properties(versioned PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/versioned.map)
add_custom_command(OUTPUT joined.o DEPENDS left.c right.c COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -c ${CMAKE_SOURCE_DIR}/left.c -o left.o
  COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -c ${CMAKE_SOURCE_DIR}/right.c -o right.o
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib left.o right.o -o joined.o)
foreach(name one two)
  add_executable(${name} main.c common.c weak.c first.cpp second.cpp ${CMAKE_BINARY_DIR}/joined.o)
  target_compile_definitions(${name} PRIVATE NAME="${name}")
  target_link_libraries(${name} -Wl,--whole-archive registered -Wl,--no-whole-archive versioned)
  target_link_options(${name} PRIVATE -Wl,--wrap=wrapped -Wl,--defsym=renamed=real)
endforeach()
install(TARGETS one two versioned)
END
cat >src/main.c <<'END'
#include <stdio.h>
int registrations(void), wrapped(int), renamed(int), public_function(int), joined(int), weak(int), order(void), count(void), alias(int);
int main(void) {
  printf("%s: %d %d %d %d %d %d %d %d %d\n", NAME, registrations(), wrapped(1), renamed(2), public_function(3), joined(4), weak(5),
         order(), count() + count(), alias(6));
  return 0;
}
END
cat >src/common.c <<'END'
static int registered;
void register_one(void) { ++registered; }
int registrations(void) { return registered; }
int wrapped(int a) { return a + 100; }
int __real_wrapped(int);
int __wrap_wrapped(int a) { return __real_wrapped(a) + 1000; }
int real(int a) { return a * 11; }
int weak(int a) { return a + 7; }
static _Thread_local int calls;
int count(void) { return ++calls; }
static int aliased(int a) { return a * 13; }
int alias(int) __attribute__((alias("aliased")));
END
# A second definition of the same name, which the linker ignores.
printf '__attribute__((weak)) int weak(int a) { return a - 7; }\nint uses_weak(int a) { return weak(a); }\n' >src/weak.c
printf 'void register_one(void);\n__attribute__((constructor)) static void start(void) { register_one(); }\n' >src/registered.c
printf 'int hidden(int a) { return a + 3; }\n' >src/hidden.c
printf 'int hidden(int);\nint old_function(int a) { return a; }\nint public_function(int a) { return hidden(a) * 2; }\nint private_function(int a) { return public_function(a); }\n' >src/versioned.c
printf 'V1 { global: old_function; local: *; };\nV2 { global: public_function; } V1;\n' >src/versioned.map
printf 'int right(int);\nint joined(int a) { return right(a) + 1; }\n' >src/left.c
printf 'int right(int a) { return a * 17; }\n' >src/right.c
printf 'int sequence;\nstruct First { First() { sequence = sequence * 10 + 1; } } first;\n' >src/first.cpp
printf 'extern int sequence;\nstruct Second { Second() { sequence = sequence * 10 + 2; } } second;\nextern "C" int order() { return sequence; }\n' \
  >src/second.cpp
cat >src/xaas.json <<'END'
{"name": "links", "build": {"system": "cmake"}, "isa": [], "image": {"entrypoint": ["/usr/local/bin/one"]}}
END
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:plain -q >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:lto --lto -q --format json >lto.json
# Inputs of `ld -r` stay objects, and hidden.c, which the programs may take from the archive as well.
assert_json lto.json '.lto.units == 8 and (.lto.without | to_entries | length == 1 and (.[0] | .value == 1 and
  (.key | startswith("a definition that another file of the image replaces")))) and .modules == {lowered: 9, cached: 2, unneeded: 0}'
run() { "$1/lib64/ld-linux-x86-64.so.2" --library-path "$1/lib/x86_64-linux-gnu:$1/usr/lib/x86_64-linux-gnu:$1/usr/local/lib" "$1/usr/local/bin/$2"; }
for program in one two; do
  expect_equal "output" "$(run plain $program)" "$program: 1 1101 22 12 69 12 12 3 78"
  expect_equal "output with LTO" "$(run lto $program)" "$program: 1 1101 22 12 69 12 12 3 78"
done
exported() { nm -D --defined-only --with-symbol-versions "$1/usr/local/lib/libversioned.so" | cut -d" " -f3 | sort | xargs; }
expect_equal "exported" "$(exported plain)" "old_function@@V1 public_function@@V2"
expect_equal "exported with LTO" "$(exported lto)" "$(exported plain)"

"$XAAS" deploy oci:app:ir -o rootfs:one --lto -q -j1 --no-cache >/dev/null
for file in bin/one bin/two lib/libversioned.so; do
  cmp "one/usr/local/$file" "lto/usr/local/$file" || fail "$file has another content"
done
