#!/bin/bash
# Images that must be signed: signatures of cosign with a key, made with openssl, in layouts, archives and registries.
source "$E2E/lib.sh"
needs jq make clang-22 openssl curl

openssl ecparam -name prime256v1 -genkey -noout -out key 2>/dev/null
openssl genrsa -out rsa 2048 2>/dev/null
openssl genpkey -algorithm ed25519 -out ed25519 2>/dev/null
openssl ecparam -name prime256v1 -genkey -noout -out other 2>/dev/null
for name in key rsa ed25519 other; do openssl pkey -in $name -pubout -out $name.pub; done

tiny_project src
"$XAAS" build src -o oci:app:ir -q >/dev/null
ir=$(image_digest app ir)
cp -r app unsigned

# An unsigned image is not deployed: exit code 7, as for a wrong signature.
expect_error 7 'not signed' "$XAAS" deploy oci:app:ir -o oci:out:x --verify-key key.pub
[ ! -e out ] || fail "something was written"
expect_error 7 'not signed' "$XAAS" deploy oci:app:ir --dry-run --verify-key key.pub
"$XAAS" deploy oci:app:ir -o oci:plain:x -q >/dev/null # without the option

for name in key rsa ed25519; do
  cp -r unsigned $name.layout
  cosign_sign $name.layout "$ir" $name
  "$XAAS" deploy oci:$name.layout:ir -o oci:out:$name --verify-key $name.pub --format json -q >deployed.json
  assert_json deployed.json ".signature.image == \"$ir\" and (.signature.key | startswith(\"sha256:\"))"
  expect_equal "digest of what is deployed" "$(image_digest out $name)" "$(image_digest plain x)"
  expect_error 7 'not by this key' "$XAAS" deploy oci:$name.layout:ir -o oci:out:x --verify-key other.pub
done
"$XAAS" deploy oci:key.layout:ir -o oci:out:t --verify-key key.pub -q >table
grep -q "^signed  *$ir" table || fail "the report does not say what is signed: $(cat table)"

# Another image's signature; then, beside it, a good one.
cp -r unsigned several
another=sha256:$(echo another | sha256sum | cut -c1-64)
cosign_sign several "$ir" key "$another"
expect_error 7 "of another image, $another" "$XAAS" deploy oci:several:ir -o oci:out:x --verify-key key.pub
cosign_sign several "$ir" other
expect_error 7 'not by this key' "$XAAS" deploy oci:several:ir -o oci:out:x --verify-key key.pub
cosign_sign several "$ir" key
"$XAAS" deploy oci:several:ir -o oci:out:several --verify-key key.pub -q >/dev/null

# A changed payload, a changed signature, and a changed image.
for damage in payload signature image; do
  rm -rf damaged && cp -r key.layout damaged
  manifest=$(blob damaged "$(image_digest damaged "${ir/:/-}.sig")")
  case $damage in
  payload) payload=$(blob damaged "$(jq -r '.layers[0].digest' "$manifest")") && sed -i 's/cosign/c0sign/' "$payload" ;;
  signature)
    jq -c '.layers[0].annotations["dev.cosignproject.cosign/signature"] |= ("MEQC" + .[4:-8] + "AAAAAAA=")' "$manifest" >changed
    put_manifest damaged "${ir/:/-}.sig" changed application/vnd.oci.image.manifest.v1+json
    ;;
  image)
    jq -c '.annotations.more = "text"' "$(blob damaged "$ir")" >changed
    put_manifest damaged ir changed application/vnd.oci.image.manifest.v1+json
    ;;
  esac
  expect_error 7 "checking the signature of oci:damaged:ir" "$XAAS" deploy oci:damaged:ir -o oci:out:x --verify-key key.pub
done

# Invalid keys.
expect_error 4 nowhere.pub "$XAAS" deploy oci:key.layout:ir -o oci:out:x --verify-key nowhere.pub
expect_error 2 'private key' "$XAAS" deploy oci:key.layout:ir -o oci:out:x --verify-key key
expect_error 2 'not a public key' "$XAAS" deploy oci:key.layout:ir -o oci:out:x --verify-key src/hello.c

# Without a tag, the signature in a layout does not count as an image.
"$XAAS" deploy oci:key.layout -o oci:out:untagged --verify-key key.pub -q >/dev/null
# An archive with both.
tar -C key.layout -cf signed.tar oci-layout index.json blobs
"$XAAS" deploy signed.tar -o oci:out:archive --verify-key key.pub -q >/dev/null
expect_error 7 'not by this key' "$XAAS" deploy signed.tar -o oci:out:x --verify-key other.pub

# An image in an index: a signature of either is enough.
cp -r unsigned multi
jq -nc --arg digest "$ir" --argjson size "$(stat -c %s "$(blob multi "$ir")")" '{schemaVersion: 2,
  mediaType: "application/vnd.oci.image.index.v1+json", manifests: [{digest: $digest, size: $size,
  mediaType: "application/vnd.oci.image.manifest.v1+json", platform: {architecture: "amd64", os: "linux"}}]}' >multi.json
put_manifest multi multi multi.json application/vnd.oci.image.index.v1+json
index=$(image_digest multi multi)
expect_error 7 'not signed' "$XAAS" deploy oci:multi:multi -o oci:out:x --verify-key key.pub
cosign_sign multi "$index" key
"$XAAS" deploy oci:multi:multi -o oci:out:multi --verify-key key.pub --format json -q >deployed.json
expect_equal "what is signed" "$(json deployed.json .signature.image)" "$index"
expect_error 7 'not signed' "$XAAS" deploy oci:multi:ir -o oci:out:x --verify-key key.pub
cp -r unsigned multi-2 && put_manifest multi-2 multi multi.json application/vnd.oci.image.index.v1+json
cosign_sign multi-2 "$ir" key
"$XAAS" deploy oci:multi-2:multi -o oci:out:multi --verify-key key.pub --format json -q >deployed.json
expect_equal "what is signed" "$(json deployed.json .signature.image)" "$ir"

# `verify` checks the signature of a deployed image.
expect_error 7 'not signed' "$XAAS" check oci:out:key --verify-key key.pub
cosign_sign out "$(image_digest out key)" key
"$XAAS" check oci:out:key --verify-key key.pub --format json -q >verified.json
expect_equal "what is signed" "$(json verified.json .signature.image)" "$(image_digest out key)"

# In a registry, in the place where cosign stores signatures.
command -v docker-registry >/dev/null && command -v skopeo >/dev/null || exit 0
start_registry log
at=docker://$registry
"$XAAS" build src -o "$at/team/app:ir" -q >/dev/null
expect_error 7 "there is no $at/team/app:${ir/:/-}.sig" "$XAAS" deploy "$at/team/app:ir" -o oci:out:x --verify-key key.pub
skopeo copy -q --dest-tls-verify=false "oci:key.layout:${ir/:/-}.sig" "$at/team/app:${ir/:/-}.sig"
for name in ":ir" "@$ir"; do
  "$XAAS" deploy "$at/team/app$name" -o oci:out:remote --verify-key key.pub --format json -q >deployed.json
  expect_equal "what is signed" "$(json deployed.json .signature.image)" "$ir"
done
expect_error 7 'not by this key' "$XAAS" deploy "$at/team/app:ir" -o oci:out:x --verify-key other.pub

# A copy takes signatures and SBOMs along, through every transport; the destination keeps its own signatures.
"$XAAS" deploy oci:key.layout:ir -o oci:sent:app --attach-sbom -q >/dev/null
app=$(image_digest sent app)
cosign_sign sent "$app" key
"$XAAS" copy oci:sent:app "$at/a/app:1" --format json -q >copied.json
assert_json copied.json "[.referrers[] | [.artifact_type, .subject, .tag]] | sort ==
  [[\"\", \"$app\", \"${app/:/-}.sig\"], [\"application/spdx+json\", \"$app\", null]]"
"$XAAS" copy "$at/a/app:1" oci-archive:app.tar >/dev/null 2>notes
grep -q 'other tools need the tag: oci-archive:app.tar:latest' notes || fail "no note about the tag: $(cat notes)"
expect_equal "skopeo's digest" "$(skopeo inspect oci-archive:app.tar:latest --format '{{.Digest}}')" "$app"
"$XAAS" copy app.tar "$at/b/app:1" -q >/dev/null
"$XAAS" copy "$at/b/app:1" oci:arrived:app -q >/dev/null
for image in "$at/a/app:1" oci-archive:app.tar "$at/b/app:1" oci:arrived:app; do
  "$XAAS" check "$image" --verify-key key.pub -q >/dev/null
done
expect_equal "referrers in the registry" \
  "$(curl -fsS -H "Accept: application/vnd.oci.image.index.v1+json" "http://$registry/v2/b/app/manifests/${app/:/-}" | jq -c '[.manifests[].artifactType]')" '["application/spdx+json"]'
cosign_sign arrived "$app" other
"$XAAS" copy oci:arrived:app "$at/a/app:1" -q >/dev/null
for key in key other; do "$XAAS" check "$at/a/app:1" --verify-key $key.pub -q >/dev/null; done
"$XAAS" copy "$at/b/app:1" "$at/a/app:1" -q >/dev/null
"$XAAS" check "$at/a/app:1" --verify-key other.pub -q >/dev/null
"$XAAS" copy oci:sent:app "$at/c/app:1" --no-referrers -q >/dev/null
expect_error 7 'not signed' "$XAAS" check "$at/c/app:1" --verify-key key.pub

# Docker's format becomes another digest in a layout, which no signature is about.
skopeo copy -q --dest-tls-verify=false --format v2s2 oci:sent:app "$at/docker:1"
"$XAAS" copy "$at/docker:1" oci:docker:1 --format json >copied.json 2>notes
assert_json copied.json '.converted and .referrers == []'
grep -q 'refer to it are not copied' notes || fail "nothing is said of the signatures: $(cat notes)"
