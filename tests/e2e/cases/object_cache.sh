#!/bin/bash
# Cached objects are not lowered again and give the same image; a configuration lowers only its own units.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22

mkdir src
cat >src/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(parts C)
add_executable(parts main.c one.c)
target_compile_definitions(parts PRIVATE VALUE=${VALUE})
install(TARGETS parts)
END
printf '#include <stdio.h>\nint one(int);\nint main(void) { printf("%%d\\n", one(VALUE)); return 0; }\n' >src/main.c
printf 'int one(int a) { return a + 1; }\n' >src/one.c
cat >src/xaas.json <<'END'
{"name": "parts", "build": {"system": "cmake"}, "isa": [],
 "specializations": [{"name": "size", "values": [{"value": "small", "arguments": ["-DVALUE=1"]},
                                                 {"value": "large", "arguments": ["-DVALUE=1000"]}]}]}
END
"$XAAS" build src -o oci:app:ir -q >/dev/null

deploy() { # TAG OPTION...: leaves TAG.json
  "$XAAS" deploy oci:app:ir -o "oci:app:$1" -q --format json "${@:2}" >"$1.json"
}
expect_objects() { # TAG LOWERED CACHED
  assert_json "$1.json" ".modules == {lowered: $2, cached: $3, unneeded: 0}"
}

deploy first --set size=small
expect_objects first 2 0
deploy again --set size=small
expect_objects again 0 2
deploy other --set size=large
expect_objects other 1 1
deploy cpu --set size=small --cpu haswell
expect_objects cpu 2 0
deploy fresh --set size=small --no-cache
expect_objects fresh 2 0
for tag in again fresh; do
  expect_equal "digest of $tag" "$(image_digest app $tag)" "$(image_digest app first)"
done
[ "$(image_digest app other)" != "$(image_digest app first)" ] || fail "another configuration gives the same image"

# Two at once over one empty cache.
rm -r "$XAAS_CACHE_DIR/objects"
deploy one --set size=small & first=$!
deploy two --set size=small & second=$!
wait $first && wait $second
for tag in one two; do
  expect_equal "digest of $tag" "$(image_digest app $tag)" "$(image_digest app first)"
done

# A damaged entry counts as a miss.
find "$XAAS_CACHE_DIR/objects" -type f | while read -r entry; do printf x | dd of="$entry" bs=1 seek=60 conv=notrunc status=none; done
deploy damaged --set size=small
expect_objects damaged 2 0
expect_equal "digest" "$(image_digest app damaged)" "$(image_digest app first)"

# A cache that other users can write is neither read nor written, with a warning.
chmod 777 "$XAAS_CACHE_DIR/objects"
"$XAAS" deploy oci:app:ir -o oci:app:distrust --set size=small --format json >distrust.json 2>distrust.err
expect_objects distrust 2 0
grep -q "users other than you can write" distrust.err || fail "no word about the cache: $(cat distrust.err)"
"$XAAS" cache info --format json >info.json
assert_json info.json '.caches[] | select(.name == "objects") | .trouble | contains("users other than you can write")'
chmod 700 "$XAAS_CACHE_DIR/objects"

"$XAAS" cache info --format json >info.json
assert_json info.json '[.caches[] | select(.entries > 0 and .bytes > 0 and .trouble == null) | .name] == ["capture", "objects"]'
# Two objects and the compressed layer.
"$XAAS" cache info | finds '^objects .* 3 entries' || fail "info says something else: $("$XAAS" cache info)"
"$XAAS" cache prune --max-size 0 --format json >pruned.json
assert_json pruned.json '.removed_bytes > 0 and ([.caches[].entries] | add == 0)'
expect_error 2 "not a size" "$XAAS" cache prune --max-size many
expect_error 2 "--max-size needs prune" "$XAAS" cache info --max-size 1G
expect_exit 2 "$XAAS" cache clean
XAAS_CACHE_MAX_SIZE=1 deploy small --set size=small
expect_equal "entries over the limit" "$(find "$XAAS_CACHE_DIR/objects" -type f | wc -l)" 0
