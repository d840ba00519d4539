#!/bin/bash
# Images in a registry: written and read, with skopeo as the judge of both; only the needed bytes move.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry skopeo podman curl

start_registry log
at=docker://$registry
tiny_choices src
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" build src -o "$at/team/app:ir" --format json -q >built.json
expect_equal "digest of the IR image" "$(json built.json .digest)" "$(image_digest app ir)"
skopeo copy -q --src-tls-verify=false "$at/team/app:ir" oci:copied:ir
expect_equal "digest of skopeo's copy" "$(image_digest copied ir)" "$(image_digest app ir)"

# `inspect` moves the manifest, the config and the layer of metadata.
new_requests log >/dev/null
"$XAAS" inspect "$at/team/app:ir" --format json -q >remote.json
new_requests log >requests
"$XAAS" inspect oci:app:ir --format json -q >local.json
expect_equal "inspect" "$(cat remote.json)" "$(cat local.json)"
expect_equal "requests of inspect" "$(cut -d' ' -f1,3 requests | sort | uniq -c | tr -s ' ')" " 4 GET 200"
moved=$(awk '{ bytes += $4 } END { print bytes }' requests)
metadata=$(jq '[.layers[] | select(.role == "metadata") | .size] | add' local.json)
whole=$(jq '[.layers[].size] | add' local.json)
manifest=$(blob app "$(image_digest app ir)")
rest=$(($(stat -c %s "$manifest") + $(jq .config.size "$manifest") + 2)) # and the 2 bytes of GET /v2/
expect_equal "bytes that inspect moves" "$moved" $((metadata + rest))
echo "inspect moved $moved of $whole bytes"
[ $((moved * 50)) -lt "$whole" ] || fail "inspect moves $moved bytes of $whole"
# Once more: everything is in the cache.
"$XAAS" inspect "$at/team/app:ir" -q >/dev/null
expect_equal "requests of the second inspect" "$(new_requests log | cut -d' ' -f2 | sed 's/.*\/v2/\/v2/' | tr '\n' ' ')" \
  "/v2/ /v2/team/app/manifests/ir "

# Deploying moves only the layers of its configuration; the closure is mounted.
"$XAAS" deploy oci:app:ir --set isa=x86-64 --cpu x86-64 -o oci:app:here -q >/dev/null
"$XAAS" deploy "$at/team/app:ir" --set isa=x86-64 --cpu x86-64 -o "$at/other/app:here" --format json -q >deployed.json
new_requests log >requests
expect_equal "digest of the deployed image" "$(json deployed.json .digest)" "$(image_digest app here)"
closure=$(jq -r '.layers[] | select(.role == "runtime") | .digest' local.json)
grep -q "POST /v2/other/app/blobs/uploads/?mount=$closure&from=team/app 201" requests ||
  fail "the closure is not mounted: $(cat requests)"
expect_equal "blobs uploaded" "$(grep -c '^PUT .*/blobs/uploads/' requests)" 2
used=$(jq '[.configurations[] | select(.id == "isa=x86-64,speed=safe") | .transfer.layers[]]' local.json)
while read -r digest; do
  jq -ne --argjson used "$used" --arg digest "$digest" '$used | index($digest)' >/dev/null ||
    grep -q "other/app/blobs/$digest" requests || fail "deploy read $digest: $(cat requests)"
done < <(sed -n 's/^GET .*\/blobs\/\(sha256:[0-9a-f]*\) 200 .*/\1/p' requests)
# Again: only the manifest is sent.
"$XAAS" deploy "$at/team/app:ir" --set isa=x86-64 --cpu x86-64 -o "$at/other/app:again" -q >/dev/null
expect_equal "uploads of the second deploy" "$(new_requests log | grep -c '^PUT ')" 1

"$XAAS" check "$at/other/app:here" -q >/dev/null
skopeo copy -q --src-tls-verify=false "$at/other/app:here" oci:copied:here
run_image copied here /usr/local/bin/hello >output
grep -q '^hello ' output || fail "the deployed image says: $(cat output)"

# Images of other tools: Docker's format, zstd, an index, a digest.
skopeo copy -q --dest-tls-verify=false --format v2s2 oci:app:here "$at/others:docker"
skopeo copy -q --dest-tls-verify=false --dest-compress-format zstd --dest-compress-level 3 oci:app:here "$at/others:zstd"
for tag in docker zstd; do
  "$XAAS" inspect "$at/others:$tag" --format json -q >other.json
  assert_json other.json '.kind == "deployed" and .name == "hello" and .configuration.isa == "x86-64"'
  "$XAAS" check "$at/others:$tag" -q >/dev/null
done
skopeo copy -q --dest-tls-verify=false oci:app:ir "$at/others:ir"
curl -fsS -H 'Accept: application/vnd.oci.image.manifest.v1+json' "http://$registry/v2/others/manifests/ir" >ir.json
ir=sha256:$(sha256sum <ir.json | cut -c1-64)
jq -nc --arg digest "$ir" --argjson size "$(stat -c %s ir.json)" '{schemaVersion: 2,
  mediaType: "application/vnd.oci.image.index.v1+json", manifests: [{digest: $digest, size: $size,
  mediaType: "application/vnd.oci.image.manifest.v1+json", platform: {architecture: "amd64", os: "linux"}}]}' >index.json
curl -fsS -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary @index.json \
  "http://$registry/v2/others/manifests/multi"
for name in "others:multi" "others@$ir" "others:docker@$ir"; do
  "$XAAS" deploy "$at/$name" --set isa=x86-64 --cpu x86-64 -o oci:out:x --format json -q >other.json
  assert_json other.json '.configuration.isa == "x86-64"'
done
expect_error 2 'not an IR or source image' "$XAAS" deploy "$at/others:docker" -o oci:out:x

expect_error 4 'manifest nope' "$XAAS" inspect "$at/team/app:nope"
expect_error 4 'manifest latest' "$XAAS" inspect "$at/nobody/nothing"
expect_error 2 'upper-case' "$XAAS" inspect "$at/Team/app"
expect_error 2 'not a digest' "$XAAS" deploy oci:app:ir -o "$at/x@$ir"
expect_error 6 '--offline' "$XAAS" inspect "$at/team/app:ir" --offline
"$XAAS" inspect "$at/others@$ir" --offline -q >/dev/null # everything is in the cache

# A registry beyond the loopback needs TLS.
machine=$(hostname -I 2>/dev/null | cut -d' ' -f1)
if [ -n "$machine" ] && [ "${machine#*:}" = "$machine" ]; then
  registry_address=0.0.0.0 start_registry open
  port=${registry##*:}
  expect_error 6 "$machine" "$XAAS" inspect "docker://$machine:$port/a:b"
  expect_error 4 'manifest b' "$XAAS" inspect "docker://$machine:$port/a:b" --tls-verify=false
fi

# shellcheck disable=SC2086 # one word for each process
kill $registry_pids
wait
expect_error 6 "$at" "$XAAS" inspect "$at/team/app:ir"
