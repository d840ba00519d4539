#!/bin/bash
# The contents of an image as SPDX: the application's files, the run-time closure, static libraries; printed, written to a
# file, and attached to the deployed image in a layout and in a registry.
source "$E2E/lib.sh"
needs jq make clang-22 sha1sum
dpkg -S /usr/lib/x86_64-linux-gnu/libz.a >/dev/null 2>&1 || skip "zlib1g-dev of Debian is not installed"

mkdir src
cat >src/squeeze.c <<'END'
#include <math.h>
#include <stdio.h>
#include <zlib.h>
int main(int argc, char **argv) {
  (void)argv;
  unsigned char out[256];
  unsigned long size = sizeof(out);
  compress(out, &size, (const unsigned char *)"squeeze squeeze squeeze", 23);
  printf("%lu %.3f\n", size, sin(argc));
  return 0;
}
END
printf 'squeeze: squeeze.o\n\t$(CC) -o $@ $^ -l:libz.a -lm\nsqueeze.o: squeeze.c\n\t$(CC) -O2 -c $<\n' >src/Makefile
cat >src/xaas.json <<'END'
{"name": "squeeze", "version": "1.2", "license": "MIT", "source": "https://example.org/squeeze.git", "revision": "v1.2",
 "build": {"system": "make", "install": [{"from": "squeeze", "to": "bin/squeeze"}]}, "isa": []}
END
"$XAAS" build src -o oci:app:ir -q >/dev/null
"$XAAS" deploy oci:app:ir -o oci:app:here --sbom sbom.json --attach-sbom --format json -q >deployed.json

# Packages, as dpkg knows them.
version() { dpkg-query -W -f '${Version}' "$1"; }
package() { # FILE NAME FILTER: of the package
  jq -er --arg name "$2" ".packages[] | select(.name == \$name) | $3" "$1" || fail "$1: package $2 has no $3"
}
expect_equal "zlib's version" "$(package sbom.json zlib1g-dev .versionInfo)" "$(version zlib1g-dev)"
expect_equal "the C library's version" "$(package sbom.json libc6 .versionInfo)" "$(version libc6)"
[[ $(package sbom.json libc6 '.externalRefs[0].referenceLocator') = pkg:deb/debian/libc6@*arch=amd64*upstream=glibc ]] ||
  fail "the package URL is $(package sbom.json libc6 '.externalRefs[0].referenceLocator')"
related() { # FILE FROM KIND: the names of what it relates to
  jq -r --arg from "$2" --arg kind "$3" '([.packages[] | {(.SPDXID): .name}] + [.files[] | {(.SPDXID): .fileName}] | add) as $names |
    .relationships[] | select($names[.spdxElementId] == $from and .relationshipType == $kind) | $names[.relatedSpdxElement]' "$1" |
    LC_ALL=C sort | tr '\n' ' '
}
[[ " $(related sbom.json squeeze STATIC_LINK)" = *" zlib1g-dev "* ]] || fail "zlib is not linked statically: $(related sbom.json squeeze STATIC_LINK)"
expect_equal "linked dynamically" "$(related sbom.json squeeze DYNAMIC_LINK)" "libc6 libgcc-s1 "
[[ " $(related sbom.json ./usr/local/bin/squeeze STATIC_LINK)" = *" zlib1g-dev "* ]] || fail "the program is not linked with zlib"
assert_json sbom.json '.packages[] | select(.SPDXID == "SPDXRef-Application") | .licenseDeclared == "MIT" and .versionInfo == "1.2"'
assert_json sbom.json '.packages[] | select(.SPDXID == "SPDXRef-Source") | .downloadLocation == "https://example.org/squeeze.git" and .versionInfo == "v1.2"'
assert_json sbom.json "any(.packages[]; .SPDXID == \"SPDXRef-IR-Image\" and .checksums[0].checksumValue == \"$(image_digest app ir | cut -d: -f2)\")"
assert_json sbom.json "any(.packages[]; .SPDXID == \"SPDXRef-Image\" and .checksums[0].checksumValue == \"$(image_digest app here | cut -d: -f2)\")"
# Every reference resolves.
assert_json sbom.json '([.packages[], .files[] | .SPDXID] + ["SPDXRef-DOCUMENT"]) as $ids | ($ids | unique | length) == ($ids | length) and
  all(.relationships[]; (.spdxElementId | IN($ids[])) and (.relatedSpdxElement | IN($ids[])))'

# Files: those of the unpacked image, with their digests.
"$XAAS" deploy oci:app:ir -o rootfs:root --sbom root.json -q >/dev/null
cmp sbom.json root.json
(cd root && find . -type f -size +0 -not -path ./.xaas/image.json -not -path ./etc/rc -not -path ./etc/environment | LC_ALL=C sort | while read -r file; do
  echo "$file $(sha1sum <"$file" | cut -d' ' -f1) $(sha256sum <"$file" | cut -d' ' -f1)"
done) >files
expect_equal "files" "$(jq -r '.files[] | "\(.fileName) \(.checksums[0].checksumValue) \(.checksums[1].checksumValue)"' sbom.json | LC_ALL=C sort)" \
  "$(LC_ALL=C sort files)"
# The verification code of the image's package (SPDX 2.3, 7.9).
expect_equal "verification code" "$(jq -r '.packages[] | select(.SPDXID == "SPDXRef-Image") | .packageVerificationCode.packageVerificationCodeValue' sbom.json)" \
  "$(cut -d' ' -f2 files | LC_ALL=C sort | tr -d '\n' | sha1sum | cut -d' ' -f1)"

# `inspect` of the image gives the same.
"$XAAS" inspect oci:app:here --sbom >inspected.json
cmp sbom.json inspected.json
"$XAAS" inspect oci:app:ir --sbom >ir.json
# Linked dynamically, through the link libz.so of zlib1g-dev: it is zlib1g that the image has.
sed 's/-l:libz.a/-lz/' src/Makefile >Makefile.shared
cp -r src shared && cp Makefile.shared shared/Makefile
"$XAAS" build shared -o oci:app:shared -q >/dev/null
"$XAAS" inspect oci:app:shared --sbom >shared.json
expect_equal "linked dynamically" "$(related shared.json squeeze DYNAMIC_LINK)" "libc6 libgcc-s1 zlib1g "
[[ " $(related ir.json squeeze STATIC_LINK)" = *" zlib1g-dev "* ]] || fail "the IR image does not say what is linked"
expect_equal "linked dynamically" "$(related ir.json squeeze DYNAMIC_LINK)" "libc6 libgcc-s1 "
assert_json ir.json '.files == [] and all(.packages[]; .filesAnalyzed == false)'
expect_equal "the date" "$(json sbom.json .creationInfo.created)" 1970-01-01T00:00:00Z

# Attached in the layout: a manifest about the image, without a tag.
artifact=$(json deployed.json .sbom)
assert_json app/index.json "any(.manifests[]; .digest == \"$artifact\" and .artifactType == \"application/spdx+json\" and
  (.annotations | has(\"org.opencontainers.image.ref.name\") | not))"
manifest=$(blob app "$artifact")
expect_equal "subject" "$(jq -r .subject.digest "$manifest")" "$(image_digest app here)"
expect_equal "size of the subject" "$(jq -r .subject.size "$manifest")" "$(stat -c %s "$(blob app "$(image_digest app here)")")"
cmp sbom.json "$(blob app "$(jq -r '.layers[0].digest' "$manifest")")"
"$XAAS" deploy oci:app:ir -o oci:app:here --attach-sbom -q >/dev/null
expect_equal "artifacts after attaching twice" "$(jq '[.manifests[] | select(.artifactType)] | length' app/index.json)" 1
"$XAAS" check oci:app:here -q >/dev/null
run_image_works() { command -v podman >/dev/null || return 0; run_image app here /usr/local/bin/squeeze >output && grep -q '^[0-9]' output; }
run_image_works || fail "the image with an artifact beside it does not run"

expect_error 2 'an SBOM can be attached' "$XAAS" deploy oci:app:ir -o oci-archive:x.tar --attach-sbom
expect_error 2 'an SBOM can be attached' "$XAAS" deploy oci:app:ir -o rootfs:x --attach-sbom
expect_error 2 '--sbom' "$XAAS" deploy oci:app:ir --dry-run --sbom x.json
expect_error 2 '--sbom needs an image' "$XAAS" inspect src --sbom

# In a registry that does not know referrers (docker-registry 2.8): an index under a tag.
command -v docker-registry >/dev/null && command -v curl >/dev/null || exit 0
start_registry log
at=docker://$registry
"$XAAS" deploy oci:app:ir -o "$at/team/app:here" --attach-sbom --format json -q >remote.json
expect_equal "digest of the artifact" "$(json remote.json .sbom)" "$artifact"
here=$(image_digest app here)
get() { curl -fsS -H 'Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json' "http://$registry/v2/team/app/$1"; }
get "manifests/${here/:/-}" >index.json
assert_json index.json ".manifests | length == 1 and .[0].digest == \"$artifact\" and .[0].artifactType == \"application/spdx+json\""
get "manifests/$artifact" >manifest.json
get "blobs/$(json manifest.json '.layers[0].digest')" | cmp - sbom.json
"$XAAS" deploy oci:app:ir -o "$at/team/app:here" --attach-sbom -q >/dev/null
expect_equal "artifacts after attaching twice" "$(get "manifests/${here/:/-}" | jq '.manifests | length')" 1
"$XAAS" inspect "$at/team/app:here" --sbom | cmp - sbom.json
