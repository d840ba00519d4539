#!/bin/bash
# Users share deployed images through a registry or layout: the next user gets the same image, and nothing is lowered again.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry skopeo curl

start_registry log
at=docker://$registry
tiny_choices src
"$XAAS" build src -o "$at/app:ir" -q >/dev/null
"$XAAS" build src -o oci:app:ir -q >/dev/null
here=(--set isa=x86-64 --cpu x86-64)
deploy() { # CACHE ARG...
  XAAS_CACHE_DIR=$PWD/cache-$1 "$XAAS" deploy "${@:2}" -q --format json >deployed.json
}
tags() { curl -fsS "http://$registry/v2/$1/tags/list" | jq -c '.tags | sort'; }

# The first user deploys the image and shares it.
deploy one "$at/app:ir" "${here[@]}" --reuse "$at/site" --dry-run
assert_json deployed.json 'has("reused") and .reused == null'
deploy one "$at/app:ir" "${here[@]}" --reuse "$at/site" -o "$at/site:here"
assert_json deployed.json '.reused == null and .modules.lowered > 0 and .links == 1'
digest=$(json deployed.json .digest)
key=$(tags site | jq -er '.[] | select(startswith("xaas-"))')
[[ $key =~ ^xaas-[0-9a-f]{40}$ ]] || fail "tag: $key"
expect_equal "tags" "$(tags site)" "[\"here\",\"$key\"]"
reused=$at/site:$key@$digest

# The second user has another cache: only the deployed image moves, and what opening the IR image reads.
"$XAAS" inspect "$at/app:ir" --format json -q >ir.json
new_requests log >/dev/null
deploy two "$at/app:ir" "${here[@]}" --reuse "$at/site" -o oci:two:here
new_requests log >requests
expect_equal "reused" "$(json deployed.json .reused)" "$reused"
assert_json deployed.json '.modules == {lowered: 0, cached: 0, unneeded: 0} and .links == 0'
expect_equal "digest" "$(json deployed.json .digest)" "$digest"
expect_equal "digest in the layout" "$(image_digest two here)" "$digest"
for layer in $(jq -r '.layers[] | select(.role == "ir" or .role == "kit" or .role == "tree") | .digest' ir.json); do
  ! grep -q "$layer" requests || fail "reuse reads layer $layer: $(cat requests)"
done
read_bytes=$(awk '{ bytes += $4 } END { print bytes }' requests)
image_bytes=$(image_blobs two here | while read -r each; do stat -c %s "$(blob two "$each")"; done | awk '{ s += $1 } END { print s }')
metadata=$(jq '[.layers[] | select(.role == "metadata") | .size] | add' ir.json)
echo "reuse moved $read_bytes bytes; the image has $image_bytes, the bundle $metadata"
[ "$read_bytes" -le $((image_bytes + metadata + 8192)) ] || fail "reuse moved $read_bytes bytes: $(cat requests)"
expect_equal "requests for blobs of the IR image" "$(grep -c '^GET .*/v2/app/blobs/' requests)" 2

# Into another repository of the registry, an unpacked tree, an archive; without progress and as text.
new_requests log >/dev/null
deploy two "$at/app:ir" "${here[@]}" --reuse "$at/site" -o "$at/elsewhere:mine"
expect_equal "digest elsewhere" "$(json deployed.json .digest)" "$digest"
expect_equal "layers sent" "$(new_requests log | grep -c '^PUT .*/blobs/')" 1 # the configuration; layers are mounted
deploy two "$at/app:ir" "${here[@]}" --reuse "$at/site" -o rootfs:tree
expect_equal "digest of the tree" "$(json deployed.json .digest)" "$digest"
grep -q '^hello ' <(tree/usr/local/bin/hello) || fail "the tree's program does not run"
"$XAAS" deploy "$at/app:ir" "${here[@]}" --reuse "$at/site" -o two.tar -q >text
grep -q "^reused  *$reused\$" text || fail "what deploy says: $(cat text)"
deploy two "$at/app:ir" "${here[@]}" --reuse "$at/site" -o "$at/site:again"
expect_equal "tags" "$(tags site)" "[\"again\",\"here\",\"$key\"]"
deploy two "$at/app:ir" "${here[@]}" --reuse "$at/site" --dry-run
assert_json deployed.json '.reused == "'"$reused"'" and .digest == null'
expect_equal "a dry run" "$("$XAAS" deploy "$at/app:ir" "${here[@]}" --reuse "$at/site" --dry-run -q)" \
  "isa=x86-64,speed=safe"$'\n'"would be reused: $reused"

# Every input that changes the image changes the tag.
n=2
for other in "--set isa=x86-64 --cpu haswell" "--set isa=x86-64-v3 --cpu haswell" "--set isa=x86-64 --cpu x86-64 --lto" \
  "--set isa=x86-64,speed=fast --cpu x86-64-v4"; do
  # shellcheck disable=SC2086
  deploy one "$at/app:ir" $other --reuse "$at/site" -o "$at/site:other"
  assert_json deployed.json '.reused == null and .links == 1'
  # shellcheck disable=SC2086
  deploy two "$at/app:ir" $other --reuse "$at/site" -o oci:two:other
  assert_json deployed.json '.reused != null'
  expect_equal "images that can be found" "$(tags site | jq '[.[] | select(startswith("xaas-"))] | length')" $n
  n=$((n + 1))
done
SOURCE_DATE_EPOCH=77 deploy two "$at/app:ir" "${here[@]}" --reuse "$at/site" -o oci:two:dated
assert_json deployed.json '.reused == null'
# Other inputs do not: the IR image from another place, a value that would be selected anyway, the system's file.
"$XAAS" detect --cpu x86-64 -o x86-64.json -q
deploy two oci:app:ir --set speed=safe --system x86-64.json --reuse "$at/site" -o oci:two:here
expect_equal "reused" "$(json deployed.json .reused)" "$reused"

# With a layout: two deploys at once; later ones reuse the image.
deploy one oci:app:ir "${here[@]}" --reuse oci:shared -o oci:shared:first & first=$!
XAAS_CACHE_DIR=$PWD/cache-three "$XAAS" deploy oci:app:ir "${here[@]}" --reuse oci:shared -o oci:shared:second -q >/dev/null
wait $first
expect_equal "tags of the layout" "$(jq -r '.manifests[].annotations["org.opencontainers.image.ref.name"]' shared/index.json | sort | tr '\n' ' ')" \
  "first second $key "
deploy four oci:app:ir "${here[@]}" --reuse oci:./shared/ -o oci:mine:here
expect_equal "reused" "$(json deployed.json .reused)" "oci:./shared/:$key@$digest"

# A wrong image under the tag is reported and not used; it is replaced if the output is in the same place.
refused() { # WHY ARG...
  XAAS_CACHE_DIR=$PWD/cache-two "$XAAS" deploy oci:app:ir "${here[@]}" "${@:2}" --format json >deployed.json 2>notes
  grep -q ":$key is not reused: .*$1" notes || fail "no word of '$1': $(cat notes)"
  assert_json deployed.json '.reused == null'
  expect_equal "digest" "$(json deployed.json .digest)" "$digest"
}
deploy two oci:app:ir --set isa=x86-64 --cpu haswell -o "$at/site:$key"
refused 'its dev.xaas.cpu is haswell, not x86-64' --reuse "$at/site" -o oci:two:x
"$XAAS" deploy oci:app:ir "${here[@]}" --reuse "$at/site" --dry-run -q >text
grep -q "^would be deployed: nothing to reuse at $at/site:$key\$" text || fail "a dry run says: $(cat text)"
refused 'its dev.xaas.cpu is haswell, not x86-64' --reuse "$at/site" -o "$at/site:here"
deploy two oci:app:ir "${here[@]}" --reuse "$at/site" -o oci:two:x
expect_equal "put in order" "$(json deployed.json .reused)" "$reused"
"$XAAS" build src -o "oci:shared:$key" -q >/dev/null
refused 'it is not a deployed image' --reuse oci:shared -o oci:two:x
# The right annotations over other layers, over another configuration.
edit() { # FILTER for the manifest; NAME of the layout; its tag gets what comes out
  local old new
  rm -rf wrong && cp -r mine wrong
  old=$(blob wrong "$(image_digest wrong here)")
  jq -cj "$1" "$old" >new.json
  new=sha256:$(sha256sum <new.json | cut -c1-64)
  mv new.json "$(blob wrong "$new")"
  jq -c --arg digest "$new" --argjson size "$(stat -c %s "$(blob wrong "$new")")" --arg key "$key" \
    '.manifests = [.manifests[0] | .digest = $digest | .size = $size | .annotations["org.opencontainers.image.ref.name"] = $key]' \
    wrong/index.json >index.json && mv index.json wrong/index.json
}
edit '.layers[0].digest = .layers[-1].digest | .layers[0].size = .layers[-1].size'
refused 'its layer' --reuse oci:wrong -o oci:two:x
edit 'del(.annotations["dev.xaas.made-from"])'
refused 'it has no dev.xaas.made-from' --reuse oci:wrong -o oci:two:x
edit '.annotations.hello = "world" | .extra = 1'
refused 'xaas would have written it differently' --reuse oci:wrong -o oci:two:x
# A blob that is not what it should be, when it is moved.
edit .
application=$(blob wrong "$(jq -r '.layers[-1].digest' "$(blob wrong "$(image_digest wrong "$key")")")")
dd if=/dev/zero of="$application" bs=1 seek=99 count=4 conv=notrunc status=none
refused 'digest' --reuse oci:wrong -o oci:fresh:x
cmp "$(blob fresh "$(image_digest fresh x)")" "$(blob mine "$digest")"
refused 'digest' --reuse oci:wrong -o rootfs:fresh-tree
fresh-tree/usr/local/bin/hello >/dev/null

# No network, no registry, and an invalid place.
refused 'offline' --reuse "$at/site" -o oci:two:x --offline
kill $registry_pid
refused '127.0.0.1' --reuse "$at/site" -o oci:two:x
for place in "$at/site:tag" rootfs:tree two.tar "oci:shared:tag"; do
  expect_error 2 "$place: images are reused from a repository or a layout" "$XAAS" deploy oci:app:ir -o oci:two:x --reuse "$place" -q
done
