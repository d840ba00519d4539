#!/bin/bash
# Objects of NASM are known in other configurations and builds, unless a file or an option that they depend on differs.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 nasm

mkdir -p src/first src/inc
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(parts C ASM_NASM)
include(CheckCSourceCompiles)
check_c_source_compiles("#ifndef __AVX2__\n#error\n#endif\nint main(void) { return 0; }" AVX2)
configure_file(config.asm.in config.asm)
add_executable(parts main.c three.asm level.asm bytes.asm)
target_include_directories(parts PRIVATE first inc ${CMAKE_CURRENT_BINARY_DIR})
install(TARGETS parts)
END
echo '%define AVX2 @AVX2@0' >src/config.asm.in
cat >src/main.c <<'END'
#include <stdio.h>
int three(void), level(void), bytes(void);
int main(void) { return printf("%d %d %d\n", three(), level() != 0, bytes()) < 0; }
END
echo '%define THREE 3' >src/inc/values.inc
function_of() { printf 'global %s\n%s:\nmov eax, %s\nret\nsection .note.GNU-stack noalloc noexec nowrite progbits\n' "$1" "$1" "$2"; }
{ echo '%include "values.inc"'; function_of three THREE; } >src/three.asm
{ echo '%include "config.asm"'; function_of level AVX2; } >src/level.asm
{ echo '%macro with_data 0'; echo 'incbin "data.bin"'; echo '%endmacro'; function_of bytes 7; } >src/bytes.asm
echo '{"name": "parts", "build": {"system": "cmake"}, "isa": ["x86-64", "x86-64-v3"]}' >src/xaas.json

build() { # TAG OPTION...
  local tag=$1
  shift
  "$XAAS" build src -o "oci:app:$tag" -q --trace "$tag.json" "$@"
}
assembled() { # TAG SOURCE: hits and misses, by configuration
  jq -r --arg name "$2" '[.traceEvents[] | select(.cat == "assemble" and (.name | endswith($name))) |
    .args.configuration + " " + .args.cache] | sort | join(", ")' "$1.json"
}
build first
expect_equal "three" "$(assembled first three.asm)" "isa=x86-64 miss, isa=x86-64-v3 hit"
expect_equal "level" "$(assembled first level.asm)" "isa=x86-64 miss, isa=x86-64-v3 miss"
[ -z "$(assembled first bytes.asm)" ] || fail "a result that may read other files is kept"
build again
expect_equal "level again" "$(assembled again level.asm)" "isa=x86-64 hit, isa=x86-64-v3 hit"
build checked --check-sharing
build fresh --no-cache
for tag in again checked fresh; do
  expect_equal "digest of $tag" "$(image_digest app $tag)" "$(image_digest app first)"
done
"$XAAS" deploy oci:app:first -o oci:app:deployed -q
expect_equal "output" "$("$XAAS" run oci:app:deployed parts)" "3 1 7"

# A file that comes earlier on the search path, or other contents, give another object.
echo '%define THREE 33' >src/first/values.inc
build shadowed
expect_equal "three of another header" "$(assembled shadowed three.asm)" "isa=x86-64 miss, isa=x86-64-v3 hit"
rm src/first/values.inc
build back
expect_equal "three of the first header" "$(assembled back three.asm)" "isa=x86-64 hit, isa=x86-64-v3 hit"
expect_equal "digest" "$(image_digest app back)" "$(image_digest app first)"

# Errors are NASM's own.
echo 'mov nowhere, eax' >>src/three.asm
expect_exit 1 "$XAAS" build src -o oci:app:broken -q 2>broken.err
grep -q "three.asm:.*error" broken.err || fail "NASM's message is missing: $(cat broken.err)"
