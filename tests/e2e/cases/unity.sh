#!/bin/bash
# Unity builds, which compile generated files that include the sources; a generated header; both kinds of assembly; an
# object library used twice; a plugin loaded by name; several programs; each with both generators of CMake.
source "$E2E/lib.sh"
needs jq cmake ninja make clang-22

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(many C CXX ASM)
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
add_executable(generate generate.c)
add_custom_command(OUTPUT table.h COMMAND generate > table.h DEPENDS generate)
add_library(common OBJECT a.c b.c table.h twice.S thrice.s)
set_target_properties(common PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(common PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
add_library(plugin MODULE plugin.cpp extra.cpp)
add_executable(first first.c $<TARGET_OBJECTS:common>)
target_link_libraries(first ${CMAKE_DL_LIBS})
add_library(whole SHARED $<TARGET_OBJECTS:common>)
add_executable(second second.c)
target_link_libraries(second whole)
install(TARGETS first second whole RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
install(TARGETS plugin LIBRARY DESTINATION lib/many)
END
cat >src/generate.c <<'END'
#include <stdio.h>
int main(void) { printf("#pragma once\nstatic const int table[2] = {%d, 3};\n", 10 / 2); }
END
printf '#include "table.h"\nint a(void) { return table[0]; }\n' >src/a.c
printf '#include "table.h"\nint b(void) { return table[1]; }\n' >src/b.c
cat >src/twice.S <<'END'
#define NAME twice
  .text
  .globl NAME
  .type NAME, @function
NAME:
  leal (%rdi,%rdi), %eax
  ret
  .section .note.GNU-stack,"",@progbits
END
cat >src/thrice.s <<'END'
  .text
  .globl thrice
  .type thrice, @function
thrice:
  leal (%rdi,%rdi,2), %eax
  ret
  .section .note.GNU-stack,"",@progbits
END
printf 'extern "C" int plugin() { return 7; }\n' >src/plugin.cpp
printf 'extern "C" int extra() { return 8; }\n' >src/extra.cpp
cat >src/first.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int a(void); int b(void); int twice(int); int thrice(int);
int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  int (*plugin)(void) = library ? (int (*)(void))dlsym(library, "plugin") : NULL;
  printf("%d %d\n", twice(a()) + thrice(b()), plugin ? plugin() : 0);
}
END
printf '#include <stdio.h>\nint a(void); int thrice(int);\nint main(void) { printf("%%d\\n", thrice(a())); }\n' >src/second.c

for generator in Ninja "Unix Makefiles"; do
  jq -n --arg generator "-G$generator" '{"name": "many", "build": {"system": "cmake", "arguments": [$generator]}, "isa": []}' >src/xaas.json
  rm -rf tree
  "$XAAS" build src -o oci:app:ir -q --format json >build.json
  # Two sources of one target are one unit; assembly has no IR.
  assert_json build.json '.configurations[0] | .units == 4 and .native_objects == 2 and .programs == 4'
  assert_json build.json '[.native_objects[].name] == ["thrice.s.o", "twice.S.o"] and .warnings == []'
  "$XAAS" deploy oci:app:ir -o rootfs:tree -q
  loader=tree/lib64/ld-linux-x86-64.so.2
  libc=$(dirname "$(find "$PWD/tree" -name libc.so.6)")
  expect_equal "first by $generator" \
    "$($loader --library-path "$libc" tree/usr/local/bin/first "$PWD/tree/usr/local/lib/many/libplugin.so")" "19 7"
  expect_equal "second by $generator" "$($loader --library-path "$libc" tree/usr/local/bin/second)" 15
done
