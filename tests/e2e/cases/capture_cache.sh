#!/bin/bash
# Known units are not compiled again and give the same image; a change compiles only the units that it affects.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(parts C)
add_executable(parts main.c one.c two.c level.c)
install(TARGETS parts)
END
printf '#include "value.h"\nint one(int), two(void);\nint main(void) { return one(VALUE) - two(); }\n' >src/main.c
printf '#include <stdio.h>\nint one(int a) { puts("one"); return a + 1; }\n' >src/one.c
printf '#include "value.h"\nint two(void) { return VALUE + 1; }\n' >src/two.c
printf '#ifdef __AVX2__\nint level = 3;\n#else\nint level = 1;\n#endif\n' >src/level.c # else the second level is not built
printf '#define VALUE 1\n' >src/value.h
echo '{"name": "parts", "build": {"system": "cmake"}, "isa": ["x86-64", "x86-64-v3"]}' >src/xaas.json

build() { # TAG OPTION...: leaves TAG.json; the count of compiles of our own three files over both configurations
  local tag=$1
  shift
  "$XAAS" build src -o "oci:app:$tag" -q --format json "$@" >"$tag.json"
}
reused() { jq '[.configurations[].reused] | add' "$1.json"; }

build first
[ "$(reused first)" -ge 3 ] || fail "the second level has nothing of the first: $(cat first.json)"
build again
[ "$(reused again)" -ge 6 ] || fail "the second build has nothing of the first: $(cat again.json)"
build checked --check-sharing
assert_json checked.json '[.configurations[].reused] | add == 0'
build fresh --no-cache
build both -j1 &
build two -j2 & # at once over one cache
wait
for tag in again checked fresh both two; do
  expect_equal "digest of $tag" "$(image_digest app $tag)" "$(image_digest app first)"
done

# Only main.c and two.c include the header; only a changed value changes a module.
printf '#define VALUE 2\n#define UNUSED 1\n' >src/value.h
build touched
compiled=$(($(jq '[.configurations[].compiled] | add' touched.json) - $(jq '[.configurations[].compiled] | add' again.json)))
expect_equal "compiles after a change" "$compiled" 2 # the second configuration knows the first's

# A cache that other users can write is not read.
chmod 777 "$XAAS_CACHE_DIR/capture"
"$XAAS" build src -o oci:app:distrust --format json >distrust.json 2>distrust.err
grep -q "users other than you can write" distrust.err || fail "no word about the cache: $(cat distrust.err)"
expect_equal "digest" "$(image_digest app distrust)" "$(image_digest app touched)"
chmod 700 "$XAAS_CACHE_DIR/capture"

# The limit is kept.
XAAS_CACHE_MAX_SIZE=1K "$XAAS" build src -o oci:app:small -q >/dev/null
expect_equal "entries" "$(find "$XAAS_CACHE_DIR/capture" -type f -size +1k | wc -l)" 0
expect_exit 2 env XAAS_CACHE_MAX_SIZE=lots "$XAAS" build src -o oci:app:bad
