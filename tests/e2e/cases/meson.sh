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
# Meson's default does not optimize, which nobody chose.
assert_json build.json '[.warnings[] | select(.kind == "optimization") | .message | test("-Dbuildtype=release")] == [true]'
for chosen in -Dbuildtype=debug -Doptimization=2; do
  jq --arg argument "$chosen" '.build.arguments += [$argument]' src/xaas.json >chosen.spec
  "$XAAS" build chosen.spec --source src -o "oci:chosen:${chosen#-D*=}" -q --format json >chosen.json
  assert_json chosen.json '[.warnings[] | select(.kind == "optimization")] == []'
done
"$XAAS" deploy oci:app:ir -o rootfs:tree -q
libc=$(dirname "$(find "$PWD/tree" -name libc.so.6)")
expect_equal result "$(tree/lib64/ld-linux-x86-64.so.2 --library-path "$libc:$PWD/tree/usr/local/lib" tree/usr/local/bin/tool)" "answer 42"
readelf -d tree/usr/local/lib/libanswer.so.1.2.3 >dynamic
grep -q 'soname: \[libanswer.so.1\]' dynamic || fail "another soname"
