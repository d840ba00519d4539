#!/bin/bash
# The same sources give the same IR image and the same deployed image in any directory and with any number of jobs.
source "$E2E/lib.sh"
needs jq cmake ninja make clang-22

mkdir -p one two/deeper/down
cp -r "$REPO/examples/soft-spheres" one/src
cp -r "$REPO/examples/soft-spheres" two/deeper/down/other-name
find two -exec touch -d 2001-02-03T04:05:06Z {} +

"$XAAS" build one/src --isa x86-64,x86-64-v3 -o oci:first:ir -j1
(cd two && XAAS_CACHE_DIR=$PWD/cache TMPDIR=$PWD "$XAAS" build deeper/down/other-name --isa x86-64,x86-64-v3 -o oci:second:ir -j2)
expect_equal "digest of the IR image" "$(image_digest two/second ir)" "$(image_digest first ir)"

"$XAAS" deploy oci:first:ir -o oci:first:v3 --cpu x86-64-v3 -j1
(cd two && XAAS_CACHE_DIR=$PWD/cache-2 "$XAAS" deploy oci:second:ir -o oci:second:v3 --cpu x86-64-v3 -j2)
expect_equal "digest of the deployed image" "$(image_digest two/second v3)" "$(image_digest first v3)"

"$XAAS" deploy oci:first:ir -o oci:first:v2 --cpu x86-64-v2
[ "$(image_digest first v2)" != "$(image_digest first v3)" ] || fail "two targets gave one image"

# A program that contains the path of its build directory: the same for the same temporary directory.
mkdir placed tmp
cat >placed/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(placed C)
file(WRITE ${CMAKE_BINARY_DIR}/where.h "#define WHERE \"${CMAKE_BINARY_DIR}\"\n")
add_executable(placed placed.c)
target_include_directories(placed PRIVATE ${CMAKE_BINARY_DIR})
install(TARGETS placed)
install(FILES ${CMAKE_BINARY_DIR}/where.h DESTINATION include)
END
printf '#include <stdio.h>\n#include "where.h"\nint main(void) { puts(WHERE); return 0; }\n' >placed/placed.c
echo '{"name": "placed", "isa": [], "build": {"system": "cmake"}}' >placed/xaas.json
for n in 1 2; do
  TMPDIR=$PWD/tmp XAAS_CACHE_DIR=$PWD/cache-placed-$n "$XAAS" build placed -o oci:placed-$n:ir -q --format json >placed-$n.json
  assert_json placed-$n.json '[.warnings[] | select(.kind == "path")] | length >= 2'
done
expect_equal "two builds of a program that says where it was built" "$(image_digest placed-2 ir)" "$(image_digest placed-1 ir)"

# The date of the compile, and a command that compiles and links at once (its objects have random names).
mkdir dated && printf '#include <stdio.h>\nint main(void) { puts(__DATE__ " " __TIME__); return 0; }\n' >dated/a.c
printf 'p: a.c\n\t$(CC) a.c -o p\n' >dated/Makefile
printf '{"name": "dated", "isa": [], "build": {"system": "make", "install": [{"from": "p", "to": "bin/p"}]}}' >dated/xaas.json
"$XAAS" build dated -o oci:dated-1:ir -q >/dev/null
sleep 1.1
"$XAAS" build dated -o oci:dated-2:ir -q >/dev/null
expect_equal "two builds of a program that says when it was compiled" "$("$XAAS" inspect oci:dated-1 --format json | jq -r .digest)" \
  "$("$XAAS" inspect oci:dated-2 --format json | jq -r .digest)"
