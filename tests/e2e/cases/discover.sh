#!/bin/bash
# `xaas inspect` of a source tree reports the choices and where they are written, and executes nothing of the tree.
# `xaas init` writes a spec from them that builds. Both give the same bytes twice.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(waves VERSION 1.4 LANGUAGES C)
execute_process(COMMAND touch $ENV{MARK})
option(WAVES_DOUBLE "double precision" OFF)
set(WAVES_SIMD none CACHE STRING "kernel")
set_property(CACHE WAVES_SIMD PROPERTY STRINGS none AVX2 AVX_512)
add_executable(waves waves.c)
target_compile_definitions(waves PRIVATE SIMD="${WAVES_SIMD}")
if(WAVES_SIMD STREQUAL "AVX2")
  target_compile_options(waves PRIVATE -mavx2)
elseif(WAVES_SIMD STREQUAL "AVX_512")
  target_compile_options(waves PRIVATE -mavx512f)
endif()
if(WAVES_DOUBLE)
  target_compile_definitions(waves PRIVATE WAVES_DOUBLE)
endif()
install(TARGETS waves)
END
cat >src/waves.c <<'END'
#include <stdio.h>
int main(void) {
#ifdef WAVES_DOUBLE
  puts("double " SIMD);
#else
  puts("single " SIMD);
#endif
}
END
export MARK=$PWD/executed
"$XAAS" inspect src --format json >inspect.json
assert_json inspect.json '.kind == "source-tree" and .name == "waves" and .build.system == "cmake" and .build.minimum_version == "3.20"'
assert_json inspect.json '[.specializations[] | {name, option, line: .evidence[0].line}] ==
  [{name: "double", option: "WAVES_DOUBLE", line: 4}, {name: "simd", option: "WAVES_SIMD", line: 5}]'
assert_json inspect.json '.specializations[1].values | map(.value) == ["none", "AVX2", "AVX_512"]'
[ ! -e executed ] || fail "something of the project was executed"
"$XAAS" inspect src --format json | cmp - inspect.json || fail "another answer"
"$XAAS" inspect src | finds '^simd  *cpu  *none  *none AVX2 AVX_512$' || fail "no row for simd"
"$XAAS" inspect src --schema paper >paper.json
assert_json paper.json '.simd_vectorization.AVX2.build_flag == "-DWAVES_SIMD=AVX2" and (has("version") | not)'

# On request CMake confirms the choices; this executes the project's files.
"$XAAS" inspect src --configure --configure-argument -DWAVES_DOUBLE=ON --format json >configured.json
[ -e executed ] || fail "nothing was configured"
assert_json configured.json '.configure.confirmed == 2 and .configure.not_reached == 0'
assert_json configured.json '[.options[] | select(.name == "WAVES_DOUBLE") | .configured, .default] == ["ON", "OFF"]'
[ ! -e src/CMakeCache.txt ] || fail "the sources were written"
mkdir broken
echo 'message(FATAL_ERROR "not here")' >broken/CMakeLists.txt
expect_error 1 "not here" "$XAAS" inspect broken --configure
expect_exit 2 "$XAAS" inspect src --configure-argument -DA=1
expect_exit 2 "$XAAS" inspect src/xaas.json --configure

"$XAAS" init src -q
expect_exit 2 "$XAAS" init src -q
"$XAAS" init src -o - >spec.json
cmp spec.json src/xaas.json || fail "another spec"
unset MARK
grep -q '// WAVES_DOUBLE (CMakeLists.txt:4): double precision$' spec.json || fail "no comment with the place"

# With a spec, discovery is shown beside it.
"$XAAS" inspect src --format json >beside.json
assert_json beside.json '.discovered | map([.name, .option, .used_by, .evidence[0].line]) ==
  [["double", "WAVES_DOUBLE", "double", 4], ["simd", "WAVES_SIMD", "simd", 5]]'
assert_json beside.json '.specializations | map([.name, .follows]) == [["double", null], ["isa", null], ["simd", "isa"]]'
echo '{"name": "waves", "build": {"system": "cmake", "arguments": ["-DWAVES_DOUBLE=ON"]}}' >src/other.json
mv src/xaas.json draft.json
mv src/other.json src/xaas.json
"$XAAS" inspect src --format json >other.json
assert_json other.json '.discovered | map(.used_by) == ["build.arguments", null]'
mv draft.json src/xaas.json

# The instruction set of the project follows the level, and a configuration without a level means all of them.
"$XAAS" build src -o oci:app:ir --isa x86-64,x86-64-v2,x86-64-v3 --config double=on -q >/dev/null
"$XAAS" inspect oci:app:ir --format json >ir.json
assert_json ir.json '.configurations | map(.id) == ["double=on,isa=x86-64", "double=on,isa=x86-64-v2", "double=on,isa=x86-64-v3"]'
for level in x86-64:none x86-64-v2:none x86-64-v3:AVX2; do
  "$XAAS" deploy oci:app:ir -o "rootfs:${level%:*}" --cpu "${level%:*}" -q >/dev/null
  grep -qa "double ${level#*:}" "${level%:*}/usr/local/bin/waves" || fail "${level%:*} was not built with ${level#*:}"
done
expect_error 2 "simd=AVX2: point simd follows" "$XAAS" build src -o oci:none:ir --config simd=AVX2 -q

expect_exit 4 "$XAAS" inspect src --build-system meson
expect_exit 2 "$XAAS" inspect oci:app:ir --schema paper
mkdir empty
"$XAAS" inspect empty --format json >empty.json 2>notes
assert_json empty.json '.specializations == [] and .build.system == null'
grep -q "no known build system" notes || fail "no note of an unknown build system"
expect_exit 4 "$XAAS" init empty

# A tree without a spec builds with the findings.
rm src/xaas.json
"$XAAS" build src -o oci:found:ir --isa x86-64 -q 2>notes >/dev/null
grep -q "has no xaas.json" notes || fail "nothing is said of the missing spec"
"$XAAS" inspect oci:found:ir --format json >found.json
assert_json found.json '.configurations | map(.id) == ["double=off,isa=x86-64"]'
expect_exit 4 "$XAAS" build empty -o oci:none:ir -q
