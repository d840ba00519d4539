#!/bin/bash
# Any byte of an IR image that is not what its digest says: refused, and nothing is written.
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
  printf "\\x$(printf %02x $((byte ^ 4)))" | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc status=none
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
expect_error 2 'no OCI archive' "$XAAS" deploy oci-archive:part.tar:ir -o oci:out:x
echo '{' >bad/index.json
expect_error 7 index.json "$XAAS" deploy oci:bad:ir -o oci:out:x
