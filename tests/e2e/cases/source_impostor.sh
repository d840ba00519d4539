#!/bin/bash
# An image that claims the layers of another one (diff_ids of its config): its unpacked files serve no other image.
source "$E2E/lib.sh"
needs jq bwrap gcc
toolchain_image tools gcc gcc libc6-dev
tiny_project src
"$XAAS" build src --kind source --base oci:tools:gcc -o oci:app:good -q >/dev/null
sed -i 's/hello %.6f/impostor %.6f/' src/hello.c
"$XAAS" build src --kind source --base oci:tools:gcc -o oci:app:other -q >/dev/null

# The config and layers of the good image, but with the sources of the other.
good=$(blob app "$(image_digest app good)") other=$(blob app "$(image_digest app other)")
jq -c --slurpfile other "$other" '.layers[-1] |= (.digest = $other[0].layers[-1].digest | .size = $other[0].layers[-1].size)' "$good" >manifest
digest=sha256:$(sha256sum <manifest | cut -c1-64)
diff_id=$(jq -r '.rootfs.diff_ids[-1]' "$(blob app "$(jq -r .config.digest "$good")")")
cp manifest "$(blob app "$digest")"
jq --arg digest "$digest" --argjson size "$(stat -c %s manifest)" \
  '.manifests += [{mediaType: .manifests[0].mediaType, digest: $digest, size: $size, annotations: {"org.opencontainers.image.ref.name": "bad"}}]' \
  app/index.json >index && cp index app/index.json

expect_error 7 "the configuration says $diff_id" "$XAAS" copy oci:app:bad rootfs:tree -q
[ ! -e tree ] && [ -z "$(ls -d .xaas-tmp-* 2>/dev/null)" ] || fail "something of the tree is left: $(ls -A)"

deploying_user
layout=$PWD/app
cd "$elsewhere"
deploy() { "${as_user[@]}" "$XAAS" deploy "oci:$layout:$1" -o "oci:here:$1" --runtime bwrap -q >/dev/null; }
# Unpacking its layers fails, and other images see nothing of it.
expect_error 7 "the configuration says $diff_id" deploy bad
expect_equal "source trees" "$(find "$elsewhere/cache/trees" -maxdepth 2 -name .xaas -exec test -e '{}/source/hello.c' ';' -print | wc -l)" 0
deploy good
expect_equal "what the good image prints" "$("${as_user[@]}" "$XAAS" run -q --runtime bwrap oci:here:good)" "hello 7.484471"
deploy other
expect_equal "what the other image prints" "$("${as_user[@]}" "$XAAS" run -q --runtime bwrap oci:here:other)" "impostor 7.484471"
