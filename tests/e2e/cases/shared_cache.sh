#!/bin/bash
# A cache that another user filled: read after one's own, never written, and used only if it can be trusted.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22

mkdir -p site src
tiny_project src
chmod 755 . site
mkdir -m 755 site/objects site/capture
own=$XAAS_CACHE_DIR
# The site fills it by deploying.
XAAS_CACHE_DIR=$PWD/site "$XAAS" build src -o oci:app:ir -q >/dev/null
XAAS_CACHE_DIR=$PWD/site "$XAAS" deploy oci:app:ir -o oci:app:site -q >/dev/null
before=$(find site -type f -exec stat -c '%n %Y %Z' {} + | sort)
[ "$(find site/objects -type f -perm 644 | wc -l)" -ge 1 ] || fail "nothing for all to read: $(ls -lR site)"

deploy() { # TAG
  "$XAAS" deploy oci:app:ir -o "oci:app:$1" --format json >"$1.json" 2>"$1.err"
}
deploy none
assert_json none.json '.modules == {lowered: 1, cached: 0, unneeded: 0}'
rm -r "$own"
export XAAS_SHARED_CACHE_DIR=$PWD/site
deploy shared
assert_json shared.json '.modules == {lowered: 0, cached: 1, unneeded: 0}'
expect_equal "digest" "$(image_digest app shared)" "$(image_digest app none)"
"$XAAS" build src -o oci:app:again --format json 2>/dev/null >build.json
expect_equal "digest" "$(image_digest app again)" "$(image_digest app ir)"
"$XAAS" build src -o oci:app:again >build.txt 2>/dev/null
grep -Eq '^default +1 +1 +0 +1 +0 +1$' build.txt || fail "not all was known: $(cat build.txt)"
expect_equal "what is there" "$(find site -type f -exec stat -c '%n %Y %Z' {} + | sort)" "$before"
"$XAAS" cache info --format json >info.json
assert_json info.json '[.shared[] | select(.entries > 0 and .trouble == null) | .name] == ["capture", "objects"]'
"$XAAS" cache info | finds "^objects (shared) .* $PWD/site/objects" || fail "info says something else: $("$XAAS" cache info)"
"$XAAS" cache prune --max-size 0 >/dev/null
expect_equal "after pruning" "$(find site -type f -exec stat -c '%n %Y %Z' {} + | sort)" "$before"

# Not with --no-cache, and not if other users can write it, with a warning.
"$XAAS" deploy oci:app:ir -o oci:app:fresh --no-cache -q --format json >fresh.json
assert_json fresh.json '.modules == {lowered: 1, cached: 0, unneeded: 0}'
chmod 775 site/objects
deploy open
assert_json open.json '.modules.cached == 0'
grep -q "shared cache is not read: .*users other than its owner can write to it" open.err || fail "no word of it: $(cat open.err)"
"$XAAS" cache info --format json >info.json
assert_json info.json '.shared[] | select(.name == "objects") | .trouble | contains("users other than its owner")'
chmod 755 site/objects
rm -rf "$own"
XAAS_SHARED_CACHE_DIR=$PWD/nowhere deploy nowhere
grep -q "shared cache is not read: .*nowhere" nowhere.err || fail "no word of it: $(cat nowhere.err)"

# Another user's cache: only if root's configuration names it.
[ "$(id -u)" -eq 0 ] || exit 0
rm -rf "$own"
chown -R 65534 site
deploy strange
assert_json strange.json '.modules.cached == 0'
grep -q "belongs to user 65534" strange.err || fail "no word of it: $(cat strange.err)"
rm -rf "$own"
echo "{\"shared_cache\": \"$PWD/site\"}" >config.json
chmod 644 config.json
unset XAAS_SHARED_CACHE_DIR
XAAS_SITE_CONFIG=$PWD/config.json deploy vouched
assert_json vouched.json '.modules.cached == 1'
chmod 777 site/objects
rm -rf "$own"
XAAS_SITE_CONFIG=$PWD/config.json deploy everybody
assert_json everybody.json '.modules.cached == 0'
