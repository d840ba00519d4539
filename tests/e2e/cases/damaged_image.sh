#!/bin/bash
# An IR image with any byte that does not match its digest is refused, and nothing is written.
source "$E2E/lib.sh"
needs jq make clang-22 skopeo

tiny_project src
"$XAAS" build src -o oci:app:ir -q
for digest in $(image_blobs app ir); do
  rm -rf bad && cp -r app bad
  file=$(blob bad "$digest")
  size=$(stat -c %s "$file")
  # One bit in the middle, then a byte too few.
  byte=$(od -An -tu1 -j $((size / 2)) -N 1 "$file" | tr -d ' ')
  printf %b "\\x$(printf %02x $((byte ^ 4)))" | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none
  expect_error 7 "${digest#sha256:}" "$XAAS" deploy oci:bad:ir -o oci:out:x
  ! grep -q 'oci:bad:ir.*oci:bad:ir' stderr || fail "says the image twice: $(cat stderr)"
  [ ! -e out/index.json ] || fail "deploying a damaged image wrote one ($digest)"
  cp "$(blob app "$digest")" "$file"
  truncate -s -1 "$file"
  expect_error 7 "${digest#sha256:}" "$XAAS" deploy oci:bad:ir -o oci:out:x
  rm "$file"
  expect_exit 7 "$XAAS" deploy oci:bad:ir -o rootfs:tree
  [ ! -e tree ] || fail "deploying a damaged image left a tree"
done

skopeo copy -q oci:app:ir oci-archive:whole.tar:ir
"$XAAS" deploy oci-archive:whole.tar:ir -o oci:out:whole -q
size=$(stat -c %s whole.tar)
for part in 3 2 1; do
  head -c $((size * part / 4)) whole.tar >part.tar
  expect_error 7 part.tar "$XAAS" deploy oci-archive:part.tar:ir -o oci:out:x
done
: >part.tar
expect_error 2 'not an OCI archive' "$XAAS" deploy oci-archive:part.tar:ir -o oci:out:x
echo '{' >bad/index.json
expect_error 7 index.json "$XAAS" deploy oci:bad:ir -o oci:out:x

# A pipe in place of a file, which would block a reader.
rm bad/index.json
mkfifo bad/index.json
expect_error 7 'index.json: not a regular file' timeout 60 "$XAAS" deploy oci:bad:ir -o oci:out:x
mkfifo spec.json
expect_error 2 'spec.json: not a regular file' timeout 60 "$XAAS" build spec.json -o oci:out:x

# Readers disagree about the meaning of a repeated key.
manifest=$(image_digest app ir)
sed 's/"layers":/"layers":[],"layers":/' "$(blob app "$manifest")" >twice.json
put_manifest app twice twice.json application/vnd.oci.image.manifest.v1+json
for command in "copy oci:app:twice oci:copied:x" "inspect oci:app:twice" "deploy oci:app:twice -o oci:out:x"; do
  # shellcheck disable=SC2086
  expect_error 7 'has the key "layers" twice' "$XAAS" $command
done
[ ! -e copied/index.json ] || fail "an image was copied that means two things"
