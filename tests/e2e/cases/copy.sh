#!/bin/bash
# Copies between all transports keep every digest. Other tools read our copies, and we read theirs.
source "$E2E/lib.sh"
needs jq make clang-22 docker-registry skopeo umoci buildah podman curl mksquashfs unsquashfs

start_registry log
at=docker://$registry
tiny_choices src
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir --set isa=x86-64 --cpu x86-64 -o oci:app:here -q >/dev/null
for tag in ir here; do
  digest=$(image_digest app $tag)
  "$XAAS" copy oci:app:$tag oci-archive:$tag.tar --format json -q >copied.json
  assert_json copied.json ".digest == \"$digest\" and .source_digest == .digest and .converted == false"
  "$XAAS" copy $tag.tar "$at/team/app:$tag" -q >/dev/null
  "$XAAS" copy "$at/team/app:$tag" "$at/other/app:$tag" -q >/dev/null
  "$XAAS" copy "$at/other/app:$tag" oci:back:$tag -q >/dev/null
  expect_equal "digest of $tag after four copies" "$(image_digest back $tag)" "$digest"
  expect_equal "skopeo's digest of it" \
    "$(skopeo inspect --tls-verify=false "$at/other/app:$tag" --format '{{.Digest}}')" "$digest"
done
expect_equal "the archive of a copy" "$(sha256sum <here.tar)" \
  "$("$XAAS" copy oci:back:here again.tar -q >/dev/null && sha256sum <again.tar)"
umoci unpack --rootless --image back:here unpacked
state=$(mktemp -d /tmp/xaas-run-XXXXXX) # podman accepts at most 50 characters
trap 'kill $registry_pids 2>/dev/null || true; rm -rf "$state"' EXIT
store=(--root "$PWD/store" --runroot "$state" --storage-driver vfs)
podman "${store[@]}" pull -q oci-archive:here.tar >/dev/null
buildah "${store[@]}" pull -q \
  --tls-verify=false "$at/other/app:here" >/dev/null

# File trees.
"$XAAS" copy "$at/team/app:here" rootfs:tree -q >/dev/null
diff <(cd unpacked/rootfs && find . -type f -exec sha256sum {} + | sort) \
  <(cd tree && find . -type f -size +0 -not -path ./.xaas/image.json -not -path ./etc/rc -not -path ./etc/environment -exec sha256sum {} + | sort) ||
  fail "the tree is not what umoci unpacks"
assert_json tree/.xaas/image.json ".digest == \"$(image_digest app here)\" and .annotations[\"dev.xaas.kind\"] == \"deployed\""
[ -d tree/proc ] && [ -e tree/etc/passwd ] || fail "there are no places for mounts: $(ls tree)"
SOURCE_DATE_EPOCH=1 "$XAAS" copy "$at/team/app:here" squashfs:one.sqfs -q >/dev/null
"$XAAS" copy back/:here squashfs:two.sqfs -q >/dev/null
cmp one.sqfs two.sqfs
unsquashfs -q -n -d from-squashfs one.sqfs >/dev/null
diff -r --no-dereference tree from-squashfs
"$XAAS" deploy oci:app:ir --set isa=x86-64 --cpu x86-64 -o squashfs:three.sqfs --format json -q >deployed.json
expect_equal "digest of a deployed squashfs" "$(json deployed.json .digest)" "$(image_digest app here)"
cmp one.sqfs three.sqfs
echo precious >four.sqfs
expect_error 2 'not a squashfs file' "$XAAS" copy oci:app:here squashfs:four.sqfs
expect_equal "a file that is no squashfs" "$(cat four.sqfs)" precious
mkdir tools
for tool in env sh; do ln -s "$(command -v $tool)" tools/; done
expect_error 8 'squashfs-tools' env PATH="$PWD/tools" "$XAAS" copy oci:app:here squashfs:five.sqfs
expect_error 2 'not empty' "$XAAS" copy oci:app:here rootfs:tree
expect_error 2 'can be written, not read' "$XAAS" copy rootfs:tree oci:x:y

# Docker's formats are kept between registries, and converted to OCI's in layouts and archives.
skopeo copy -q --dest-tls-verify=false --format v2s2 oci:app:here "$at/docker:v1"
docker_digest=$(skopeo inspect --tls-verify=false "$at/docker:v1" --format '{{.Digest}}')
"$XAAS" copy "$at/docker:v1" "$at/docker:v2" --format json -q >copied.json
assert_json copied.json ".digest == \"$docker_digest\""
"$XAAS" copy "$at/docker:v1" oci:docker:v1 --format json >copied.json 2>notes
assert_json copied.json ".source_digest == \"$docker_digest\" and .converted"
grep -q "$docker_digest" notes || fail "the other digest is not said: $(cat notes)"
assert_json "$(blob docker "$(image_digest docker v1)")" \
  '.mediaType == "application/vnd.oci.image.manifest.v1+json" and all(.layers[]; .mediaType | endswith(".tar+gzip"))'
umoci unpack --rootless --image docker:v1 unpacked-docker
diff -r --no-dereference unpacked/rootfs unpacked-docker/rootfs

# Images of other builders, and zstd.
container=$(buildah "${store[@]}" from scratch)
buildah "${store[@]}" copy -q "$container" src/xaas.json /x.json >/dev/null
buildah "${store[@]}" commit -q "$container" "oci:$PWD/built:v1" >/dev/null
"$XAAS" copy oci:built:v1 "$at/built:v1" -q >/dev/null
"$XAAS" copy "$at/built:v1" rootfs:built-tree -q >/dev/null
cmp src/xaas.json built-tree/x.json
skopeo copy -q --dest-compress-format zstd oci:app:here oci:zstd:v1
"$XAAS" copy oci:zstd:v1 "$at/zstd:v1" -q >/dev/null
"$XAAS" copy "$at/zstd:v1" rootfs:zstd-tree -q >/dev/null
diff -r --no-dereference --exclude=image.json tree zstd-tree

# An index with everything that it lists, one of its images, and an artifact of an unknown type.
ir=$(blob app "$(image_digest app ir)") here=$(blob app "$(image_digest app here)")
entry() {
  jq -nc --arg digest "sha256:$(basename "$1")" --argjson size "$(stat -c %s "$1")" --arg arch "$2" \
    '{digest: $digest, size: $size, mediaType: "application/vnd.oci.image.manifest.v1+json", platform: {architecture: $arch, os: "linux"}}'
}
jq -nc --argjson a "$(entry "$here" amd64)" --argjson b "$(entry "$ir" riscv64)" '{schemaVersion: 2,
  mediaType: "application/vnd.oci.image.index.v1+json", manifests: [$a, $b]}' >index.json
curl -fsS -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary @index.json \
  "http://$registry/v2/team/app/manifests/multi"
"$XAAS" copy "$at/team/app:multi" oci:multi:all -q >/dev/null
expect_equal "digest of the index" "$(image_digest multi all)" "sha256:$(sha256sum <index.json | cut -d' ' -f1)"
"$XAAS" copy oci:multi:all "$at/elsewhere:multi" -q >/dev/null
skopeo copy -q --src-tls-verify=false --all "$at/elsewhere:multi" oci:skopeo:multi
"$XAAS" copy oci:multi:all --arch riscv64 oci:multi:one -q >/dev/null
expect_equal "the image for riscv64" "$(image_digest multi one)" "$(image_digest app ir)"
"$XAAS" copy oci:multi:all --platform linux/riscv64 oci:multi:platform -q >/dev/null
expect_equal "the image for linux/riscv64" "$(image_digest multi platform)" "$(image_digest app ir)"
expect_error 3 'linux/s390x' "$XAAS" copy oci:multi:all --arch s390x oci:multi:none

# A full disk is reported before anything is written.
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=256k none small 2>/dev/null; then
  expect_error 9 'free' "$XAAS" copy "$at/team/app:ir" oci-archive:small/app.tar
  expect_error 9 'free' "$XAAS" copy "$at/team/app:ir" oci:small/app
  expect_equal "what is written without space" "$(find small -type f | wc -l)" 0
  umount small
else
  echo "not run: a file system without space (needs root)"
fi

# Two copies at once, and a killed one: the layout stays intact.
for ((i = 0; i < 4; ++i)); do
  "$XAAS" copy "$at/team/app:ir" oci:many:t$i -q >/dev/null &
  copies[i]=$!
done
for copy in "${copies[@]}"; do wait "$copy" || fail "a copy of several at once failed"; done
expect_equal "tags of concurrent copies" "$(jq '.manifests | length' many/index.json)" 4
head -c $((96 << 20)) /dev/urandom >large # umoci pads no tar
umoci new --image multi:large
umoci insert --image multi:large large /large
large=$(image_digest multi large)
for delay in 0.03 0.06 0.1 0.15 0.2; do
  "$XAAS" copy oci:multi:large oci:many:large -q >/dev/null &
  sleep $delay
  kill -KILL $! 2>/dev/null || true
  wait $! || true
done
expect_equal "tags after killed copies" "$(jq '[.manifests[] | select(.digest != "'"$large"'")] | length' many/index.json)" 4
find many -name '.xaas-tmp-*' -print -exec touch -d '2 hours ago' {} +
touch -d '2 hours ago' many/.xaas-tmp-killed many/blobs/sha256/.xaas-tmp-killed # whatever the kills above have left
"$XAAS" copy oci:multi:large oci:many:large -q >/dev/null
expect_equal "the image after killed copies" "$(image_digest many large)" "$large"
"$XAAS" copy oci:many:large rootfs:large-tree -q >/dev/null
cmp large large-tree/large
expect_equal "what killed copies leave" "$(find many -name '.xaas-tmp-*' | wc -l)" 0
expect_error 4 'nope' "$XAAS" copy "$at/team/app:nope" oci:many:nope
expect_error 2 'digest' "$XAAS" copy oci:app:here "$at/x@$docker_digest"
expect_error 6 '--offline' "$XAAS" copy "$at/team/app:ir" oci:x:y --offline
