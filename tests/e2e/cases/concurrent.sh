#!/bin/bash
# Several writers of one layout: afterwards every tag is there, complete, and equal to that of a lone writer.
source "$E2E/lib.sh"
needs jq make clang-22

tiny_choices src
tiny_project other
"$XAAS" build src -o oci:alone:ir -q
"$XAAS" deploy oci:alone:ir -o oci:alone:v2 --cpu x86-64-v2 -q
"$XAAS" deploy oci:alone:ir -o oci:alone:v3 --cpu x86-64-v3 -q
"$XAAS" build other -o oci:alone:other -q

"$XAAS" build src -o oci:app:ir -q &
one=$!
"$XAAS" build other -o oci:app:other -q &
two=$!
wait $one && wait $two
expect_equal ir "$(image_digest app ir)" "$(image_digest alone ir)"
expect_equal other "$(image_digest app other)" "$(image_digest alone other)"

jobs=()
for tag in v2 v3; do
  "$XAAS" deploy oci:app:ir -o "oci:app:$tag" --cpu "x86-64-$tag" -q &
  jobs+=($!)
  "$XAAS" deploy oci:app:ir -o oci:app:same --cpu x86-64-v3 -q & # one tag by two writers
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done
expect_equal v2 "$(image_digest app v2)" "$(image_digest alone v2)"
expect_equal v3 "$(image_digest app v3)" "$(image_digest alone v3)"
expect_equal same "$(image_digest app same)" "$(image_digest alone v3)"
for tag in ir other v2 v3 same; do
  for digest in $(image_blobs app $tag); do
    expect_equal "content of a blob" "sha256:$(sha256sum <"$(blob app "$digest")" | cut -c1-64)" "$digest"
  done
done
