#!/bin/bash
# Meson: asks the compiler for its linker, and links shared libraries by RUNPATH.
source "$E2E/lib.sh"
needs jq clang-22 meson ninja readelf

mkdir src
printf 'int answer(void) { return BASE + 2; }\n' >src/answer.c
printf '#include <stdio.h>\nint answer(void);\nint main(void) { printf("answer %%d\\n", answer()); }\n' >src/main.c
cat >src/meson.build <<'END'
project('tool', 'c')
library = shared_library('answer', 'answer.c', version: '1.2.3', install: true, c_args: '-DBASE=40')
executable('tool', 'main.c', link_with: library, install: true)
END
echo '{"name": "tool", "build": {"system": "meson", "arguments": ["-Dlibdir=lib"]}, "isa": []}' >src/xaas.json
"$XAAS" build src -o oci:app:ir -q --format json >build.json
assert_json build.json '.configurations[0].units == 2 and .native_objects == []'
"$XAAS" deploy oci:app:ir -o rootfs:tree -q
libc=$(dirname "$(find "$PWD/tree" -name libc.so.6)")
expect_equal result "$(tree/lib64/ld-linux-x86-64.so.2 --library-path "$libc:$PWD/tree/usr/local/lib" tree/usr/local/bin/tool)" "answer 42"
readelf -d tree/usr/local/lib/libanswer.so.1.2.3 >dynamic
grep -q 'soname: \[libanswer.so.1\]' dynamic || fail "another soname"
