#!/bin/bash
# Other tools read our images.
source "$E2E/lib.sh"
needs jq make clang-22 skopeo umoci podman runc

tiny_project src
"$XAAS" build src -o oci:app:ir -q
"$XAAS" deploy oci:app:ir -o oci:app:here -q
digest=$(image_digest app here)

for tag in ir here; do
  skopeo inspect oci:app:$tag >inspected.json
  assert_json inspected.json '.Architecture == "amd64" and .Os == "linux" and (.Labels["org.opencontainers.image.title"] == "hello")'
  expect_equal "digest by skopeo" "$(json inspected.json .Digest)" "$(image_digest app $tag)"
done
skopeo copy -q --preserve-digests oci:app:here oci-archive:here.tar:here
skopeo copy -q --preserve-digests oci-archive:here.tar:here oci:back:here
expect_equal "digest after copying" "$(image_digest back here)" "$digest"
skopeo copy -q oci:app:here dir:plain
# Our archives, and those of other tools.
"$XAAS" deploy oci:app:ir -o oci-archive:ours.tar:here -q
skopeo inspect oci-archive:ours.tar:here >inspected.json
expect_equal "digest of our archive" "$(json inspected.json .Digest)" "$digest"
skopeo copy -q --preserve-digests oci:app:ir oci-archive:ir.tar:ir
"$XAAS" deploy ir.tar -o oci:from-archive:here -q
expect_equal "deployed from an archive of skopeo" "$(image_digest from-archive here)" "$digest"

umoci unpack --rootless --image app:here bundle >/dev/null
"$XAAS" deploy oci:app:ir -o rootfs:tree -q
expect_equal "program in umoci's tree and in ours" "$(sha256sum <tree/usr/local/bin/hello)" \
  "$(sha256sum <bundle/rootfs/usr/local/bin/hello)"
# Ours also has mount points for runtimes, and the description of the image.
(cd tree && rm .xaas/image.json && rmdir .xaas dev home proc sys tmp && rm etc/passwd etc/group etc/hosts etc/resolv.conf etc/rc etc/environment && rmdir etc && find . | LC_ALL=C sort) >ours
(cd bundle/rootfs && find . | LC_ALL=C sort) >theirs
cmp ours theirs || fail "the trees differ: $(diff ours theirs)"

make -s -C src CC=clang-22 CFLAGS=-O2
want=$(src/hello)
expect_equal "the tree's own loader" "$(tree/lib64/ld-linux-x86-64.so.2 --library-path \
  "$(dirname "$(find "$PWD/tree" -name libc.so.6)")" tree/usr/local/bin/hello)" "$want"
expect_equal "in a container" "$(run_image app here)" "$want"
