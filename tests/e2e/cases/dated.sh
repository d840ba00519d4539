#!/bin/bash
# SOURCE_DATE_EPOCH dates the image and every file in it; without it an image is from 1970. Files belong to root, are sorted,
# and bring no directories of the build machine.
source "$E2E/lib.sh"
needs jq make clang-22 tar zstd

tiny_project src
"$XAAS" build src -o oci:app:plain -q
"$XAAS" deploy oci:app:plain -o oci:app:plain-here -q
created() { # TAG
  jq -r .created "$(blob app "$(jq -r .config.digest "$(blob app "$(image_digest app "$1")")")")"
}
expect_equal plain "$(created plain)" 1970-01-01T00:00:00Z
expect_equal plain-here "$(created plain-here)" 1970-01-01T00:00:00Z

export SOURCE_DATE_EPOCH=981173106 # 2001-02-03 04:05:06
"$XAAS" build src -o oci:app:ir -q
(unset SOURCE_DATE_EPOCH && "$XAAS" deploy oci:app:ir -o oci:app:here -q)
SOURCE_DATE_EPOCH=1000000000 "$XAAS" deploy oci:app:ir -o oci:app:later -q
expect_equal ir "$(created ir)" 2001-02-03T04:05:06Z
expect_equal here "$(created here)" 2001-02-03T04:05:06Z
expect_equal later "$(created later)" 2001-09-09T01:46:40Z
for tag in ir here; do
  manifest=$(blob app "$(image_digest app $tag)")
  expect_equal "annotation" "$(jq -r '.annotations["org.opencontainers.image.created"]' "$manifest")" 2001-02-03T04:05:06Z
  for digest in $(jq -r '.layers[].digest' "$manifest"); do
    if [ "$(head -c 2 "$(blob app "$digest")" | od -An -tx1 | tr -d ' ')" = 1f8b ]; then
      expect_equal "name and time in gzip" "$(head -c 8 "$(blob app "$digest")" | tail -c 5 | od -An -tx1 | tr -d ' ')" 0000000000
      gzip -dc "$(blob app "$digest")" >layer.tar
    else
      zstd -dcq <"$(blob app "$digest")" >layer.tar
    fi
    TZ=UTC tar --numeric-owner --full-time -tvf layer.tar >listing
    ! grep -v ' 0/0 ' listing || fail "a file of somebody"
    ! grep -v ' 2001-02-03 04:05:06 ' listing || fail "a file of another time"
    tar -tf layer.tar >names
    LC_ALL=C sort -c names || fail "not in order: $(cat names)"
    ! grep -E '^(\./|/)' names || fail "names from a root"
    ! grep -aqF "$PWD" layer.tar || fail "the build machine's directory is in layer $digest of $tag"
  done
done
