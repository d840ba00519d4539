#!/bin/bash
# What install steps do to files, and the kinds of files: stripping, RUNPATH, versioned shared libraries, archives, headers,
# generated sources, programs that the build runs, assembly.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 readelf ar

mkdir src
cd src
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(tool C ASM)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
add_executable(generate generate.c)
add_custom_command(OUTPUT table.c COMMAND generate table.c DEPENDS generate)
add_library(part SHARED part.c ${CMAKE_CURRENT_BINARY_DIR}/table.c)
set_target_properties(part PROPERTIES VERSION 3.2.1 SOVERSION 3)
add_library(still STATIC still.c)
add_executable(tool main.c twice.S)
target_link_libraries(tool part still)
install(TARGETS tool part still RUNTIME DESTINATION bin LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
install(FILES part.h DESTINATION include)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/part.pc "prefix=${CMAKE_INSTALL_PREFIX}\nName: part\nLibs: -L\${prefix}/lib -lpart\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/part.pc DESTINATION lib/pkgconfig)
install(CODE "execute_process(COMMAND strip \$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/tool COMMAND_ERROR_IS_FATAL ANY)")
END
cat >generate.c <<'END'
#include <stdio.h>
int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
  if (!file) return 1;
  fprintf(file, "int table[3] = {1, 2, %d};\n", argc + 16);
  return fclose(file);
}
END
printf 'extern int table[3];\nint part(void) { return table[0] + table[1] + table[2]; }\n' >part.c
echo 'int part(void);' >part.h
echo 'int still(int x) { return x - 21; }' >still.c
printf '#include "part.h"\n#include <stdio.h>\nint still(int); int twice(int);\nint main(void) { printf("%%d\\n", twice(part()) + still(21)); }\n' >main.c
cat >twice.S <<'END'
  .text
  .globl twice
twice:
  leal (%rdi,%rdi), %eax
  ret
  .section .note.GNU-stack,"",@progbits
END
echo '{"name": "tool", "build": {"system": "cmake"}, "isa": []}' >xaas.json
cd ..

"$XAAS" build src -o oci:app:ir -q --format json >build.json
assert_json build.json '.configurations[0].native_objects == 1 and (.native_objects | length == 1) and (.native_objects[0].name | test("twice"))'
"$XAAS" build src -o oci:app:ir -q >table
grep -q '^native object .*twice' table || fail "the native object is not reported: $(cat table)"
expect_equal native_objects "$("$XAAS" inspect oci:app:ir --format json | jq '.configurations[0].native_objects')" 1
"$XAAS" deploy oci:app:ir -o rootfs:tree -q --format json >deploy.json
assert_json deploy.json '.native_objects == 1 and .links == 2'

lib=tree/usr/local/lib
expect_equal "links to the library" "$(readlink $lib/libpart.so) $(readlink $lib/libpart.so.3)" "libpart.so.3 libpart.so.3.2.1"
readelf -dS $lib/libpart.so.3.2.1 >library
grep -q 'soname: \[libpart.so.3\]' library || fail "another soname"
readelf -dS tree/usr/local/bin/tool >dynamic
grep -q 'R.*PATH.*\[$ORIGIN/../lib\]' dynamic || fail "another RUNPATH: $(cat dynamic)"
! grep -q '\.symtab' dynamic || fail "the program is not stripped"
grep -q '\.symtab' library || fail "the library is stripped"
expect_equal "members of the archive" "$(ar t $lib/libstill.a)" still.c.o
cmp src/part.h tree/usr/local/include/part.h
expect_equal "pkg-config file" "$(head -n 1 $lib/pkgconfig/part.pc)" prefix=/usr/local
libc=$(dirname "$(find "$PWD/tree" -name libc.so.6)")
expect_equal result "$(tree/lib64/ld-linux-x86-64.so.2 --library-path "$libc" tree/usr/local/bin/tool)" 42
! grep -rqaF xaas-build tree || fail "the build's directory is in $(grep -rlaF xaas-build tree)"
# A compiler can use the archive.
printf 'int still(int);\nint main(void) { return still(21); }\n' >user.c
clang-22 user.c $lib/libstill.a -o user && ./user
# Nothing depends on the build directory.
mkdir other
TMPDIR=$PWD/other "$XAAS" build src -o oci:again:ir -q >table
expect_equal "digest from another place" "$(image_digest again ir)" "$(image_digest app ir)"
