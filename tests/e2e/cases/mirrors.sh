#!/bin/bash
# The files of containers/image decide where registries are read: a deploy at a site without internet goes through the site's
# mirror. Podman, which reads the same files, comes to the same result.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry skopeo openssl curl

openssl ecparam -name prime256v1 -genkey -noout -out key 2>/dev/null
openssl pkey -in key -pubout -out key.pub
start_registry mirror-log
mirror=$registry
upstream=upstream.example.invalid # cannot be reached
tiny_project src
"$XAAS" build src -o oci:app:ir -q >/dev/null
ir=$(image_digest app ir)
cosign_sign app "$ir" key
"$XAAS" copy oci:app:ir "docker://$mirror/cache/team/app:ir" -q >/dev/null

image=docker://$upstream/team/app:ir
export HOME=$PWD/home
mkdir -p home/.config/containers
conf=home/.config/containers/registries.conf
expect_error 6 "$upstream" "$XAAS" inspect "$image"

cat >$conf <<END
[[registry]]
location = "$upstream"
[[registry.mirror]]
location = "127.0.0.1:1"
[[registry.mirror]]
location = "$mirror/cache"
END
"$XAAS" deploy "$image" -o oci:out:here --verify-key key.pub --format json -q >deployed.json
expect_equal "what is signed" "$(json deployed.json .signature.image)" "$ir"
"$XAAS" run oci:out:here >output
grep -q . output || fail "the deployed program prints nothing"
"$XAAS" copy "$image" oci:copied:ir --format json -q >copied.json
assert_json copied.json ".digest == \"$ir\" and (.referrers | length == 1)"
# By its digest, and what no place has.
"$XAAS" inspect "docker://$upstream/team/app@$ir" -q >/dev/null
expect_error 4 'it cannot be read at any of its places' "$XAAS" inspect "docker://$upstream/team/app:other"
# Writing goes to the name itself.
expect_error 6 "$upstream" "$XAAS" copy oci:app:ir "docker://$upstream/team/app:new"
[ "$(curl -fsS "http://$mirror/v2/cache/team/app/tags/list" | jq '.tags | index("new")')" = null ] || fail "the mirror was written to"

# Only by digest.
sed -i 's/^location = "'$upstream'"/&\nmirror-by-digest-only = true/' $conf
"$XAAS" copy "docker://$upstream/team/app@$ir" oci:copied:again -q >/dev/null
expect_error 6 "$upstream" "$XAAS" inspect "$image"

# Filling the mirror reads from elsewhere, here from what cannot be reached.
sed -i '/mirror-by-digest-only/d' $conf
expect_error 6 "$upstream" "$XAAS" copy "$image" "docker://$mirror/cache/team/app:ir"

# Another location, a blocked registry, a broken file.
cat >$conf <<END
[[registry]]
prefix = "$upstream/team"
location = "$mirror/cache/team"
[[registry]]
prefix = "$upstream/blocked"
location = "$mirror/cache"
blocked = true
END
"$XAAS" inspect "$image" -q >/dev/null
expect_error 5 "is blocked in $HOME/.config/containers/registries.conf" "$XAAS" inspect "docker://$upstream/blocked/app:ir"
expect_error 5 'is blocked' "$XAAS" copy oci:app:ir "docker://$upstream/blocked/app:new"
if command -v podman >/dev/null; then
  state=$(mktemp -d /tmp/xaas-run-XXXXXX) # podman accepts at most 50 characters
  trap 'kill $registry_pids 2>/dev/null || true; rm -rf "$state"' EXIT
  sed -i 's/^blocked/insecure = true\n&/; s/^prefix = .*team"/&\ninsecure = true/' $conf
  CONTAINERS_REGISTRIES_CONF=$PWD/$conf podman --root "$PWD/store" --runroot "$state" --storage-driver vfs pull -q "$image" >/dev/null ||
    fail "podman does not read the image through $conf"
else
  echo "not run: the same with podman, which is not installed"
fi
cp $conf other.conf
printf '[[registry]]\nlocation = 5\n' >$conf
expect_error 2 "registries.conf:2: 'location' is not a string" "$XAAS" inspect "$image"
"$XAAS" inspect oci:app:ir -q >/dev/null # needs no registry
CONTAINERS_REGISTRIES_CONF=other.conf "$XAAS" inspect "$image" -q >/dev/null
expect_error 4 nowhere.conf env CONTAINERS_REGISTRIES_CONF=nowhere.conf "$XAAS" inspect "$image"
