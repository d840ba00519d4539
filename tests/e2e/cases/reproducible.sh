#!/bin/bash
# The same sources give the same IR image and the same deployed image in any directory and with any number of jobs.
source "$E2E/lib.sh"
needs jq cmake ninja make clang-22

mkdir -p one two/deeper/down
cp -r "$REPO/examples/soft-spheres" one/src
cp -r "$REPO/examples/soft-spheres" two/deeper/down/other-name
find two -exec touch -d 2001-02-03T04:05:06Z {} +

"$XAAS" build one/src -o oci:first:ir -j1
(cd two && XAAS_CACHE_DIR=$PWD/cache TMPDIR=$PWD "$XAAS" build deeper/down/other-name -o oci:second:ir -j2)
expect_equal "digest of the IR image" "$(image_digest two/second ir)" "$(image_digest first ir)"

"$XAAS" deploy oci:first:ir -o oci:first:v3 --cpu x86-64-v3 -j1
(cd two && XAAS_CACHE_DIR=$PWD/cache-2 "$XAAS" deploy oci:second:ir -o oci:second:v3 --cpu x86-64-v3 -j2)
expect_equal "digest of the deployed image" "$(image_digest two/second v3)" "$(image_digest first v3)"

"$XAAS" deploy oci:first:ir -o oci:first:v2 --cpu x86-64-v2
[ "$(image_digest first v2)" != "$(image_digest first v3)" ] || fail "two targets gave one image"

# The date of the compile, and a command that compiles and links at once (its objects have random names).
mkdir dated && printf '#include <stdio.h>\nint main(void) { puts(__DATE__ " " __TIME__); return 0; }\n' >dated/a.c
printf 'p: a.c\n\t$(CC) a.c -o p\n' >dated/Makefile
printf '{"name": "dated", "isa": [], "build": {"system": "make", "install": [{"from": "p", "to": "bin/p"}]}}' >dated/xaas.json
"$XAAS" build dated -o oci:dated-1:ir -q >/dev/null
sleep 1.1
"$XAAS" build dated -o oci:dated-2:ir -q >/dev/null
expect_equal "two builds of a program that says when it was compiled" "$("$XAAS" inspect oci:dated-1 --format json | jq -r .digest)" \
  "$("$XAAS" inspect oci:dated-2 --format json | jq -r .digest)"
