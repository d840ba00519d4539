#!/bin/bash
# Annotations lead from a deployed image to the IR image, and from there to the sources.
source "$E2E/lib.sh"
needs jq make clang-22 git

annotation() { # TAG KEY: the same in the manifest and in the config's labels; empty: there is none
  local manifest label
  manifest=$(blob app "$(image_digest app "$1")")
  label=$(jq -r --arg key "$2" '.config.Labels[$key] // ""' "$(blob app "$(jq -r .config.digest "$manifest")")")
  [ "$(jq -r --arg key "$2" '.annotations[$key] // ""' "$manifest")" = "$label" ] || fail "$1: annotation and label $2 differ"
  echo "$label"
}
git_here() { git -c user.name=me -c user.email=me@example.org "$@"; }

tiny_project plain
"$XAAS" build plain -o oci:app:plain -q --format json >built.json
assert_json built.json '.revision == null'
"$XAAS" deploy oci:app:plain -o oci:app:plain-here -q >/dev/null
for tag in plain plain-here; do
  for key in revision source base.name base.digest; do
    [ -z "$(annotation $tag org.opencontainers.image.$key)" ] || fail "$tag has a $key"
  done
done
expect_equal "made from" "$(annotation plain-here dev.xaas.made-from)" "$(image_digest app plain)"
expect_equal "name" "$(annotation plain-here dev.xaas.made-from.name)" hello:0
for what in tool llvm; do
  expect_equal "version of $what" "$(annotation plain-here "dev.xaas.made-from.$what.version")" "$(annotation plain "dev.xaas.$what.version")"
done

cp -r plain src
jq '. + {version: "1.2", license: "MIT", source: "https://example.org/hello.git"}' plain/xaas.json >src/xaas.json
git -C src init -q
git -C src add -A
(cd src && git_here commit -q -m one)
commit=$(git -C src rev-parse HEAD)
"$XAAS" build src -o oci:app:ir -q --format json >built.json
expect_equal "revision in the report" "$(json built.json .revision)" "$commit"
"$XAAS" deploy oci:app:ir -o oci:app:here -q >/dev/null
for tag in ir here; do
  expect_equal "$tag: revision" "$(annotation $tag org.opencontainers.image.revision)" "$commit"
  expect_equal "$tag: source" "$(annotation $tag org.opencontainers.image.source)" https://example.org/hello.git
  expect_equal "$tag: version" "$(annotation $tag org.opencontainers.image.version)" 1.2
  expect_equal "$tag: license" "$(annotation $tag org.opencontainers.image.licenses)" MIT
done
expect_equal "name" "$(annotation here dev.xaas.made-from.name)" hello:1.2

# Another checkout of the same revision gives the same image; a changed tree gives another one, which records the change.
git clone -q src other
XAAS_CACHE_DIR=$PWD/cache-2 "$XAAS" build other -o oci:app:other -q >/dev/null
expect_equal "digest of another checkout's image" "$(image_digest app other)" "$(image_digest app ir)"
echo '/* changed */' >>other/hello.c
"$XAAS" build other -o oci:app:dirty -q >/dev/null
expect_equal "revision of changed sources" "$(annotation dirty org.opencontainers.image.revision)" "$commit-dirty"
# Values in the spec take precedence.
jq '. + {revision: "v1.2"}' src/xaas.json >named.json
"$XAAS" build named.json --source src -o oci:app:named -q >/dev/null
expect_equal "revision of the spec" "$(annotation named org.opencontainers.image.revision)" v1.2
jq '. + {source: "hello.git"}' src/xaas.json >bad.json
expect_error 2 '/source' "$XAAS" build bad.json --source src -o oci:app:bad

# A missing git is not an error.
mkdir bin
for tool in make clang-22 sh env rm cp mkdir install; do ln -sf "$(command -v $tool)" bin/; done
PATH=$PWD/bin "$XAAS" build src -o oci:app:no-git -q >/dev/null
[ -z "$(annotation no-git org.opencontainers.image.revision)" ] || fail "a revision without git"

# SLSA provenance: attached to the image, which stays the same; the same statement in a file.
expect_error 2 '--builder-id URI' "$XAAS" build src -o oci:slsa:ir --attach-provenance
expect_error 2 'not a URI' "$XAAS" build src -o oci:slsa:ir --attach-provenance --builder-id me
expect_error 2 'needs --provenance' "$XAAS" build src -o oci:slsa:ir --builder-id x:y
expect_error 2 'a registry or a layout' "$XAAS" build src -o oci-archive:slsa.tar --attach-provenance --builder-id x:y
expect_error 2 'each architecture' "$XAAS" build src -o oci:slsa:ir --provenance file --builder-id x:y --arch x86_64,aarch64
[ ! -e slsa ] || fail "something was written"
"$XAAS" build src -o oci:slsa:ir --attach-provenance --provenance statement.json --builder-id https://ci.example.org/1 -q --format json >built.json
expect_equal "digest of the image" "$(json built.json .digest)" "$(image_digest app ir)"
attached=$(blob slsa "$(json built.json .provenance)")
assert_json "$attached" ".subject.digest == \"$(image_digest slsa ir)\" and .artifactType == \"application/vnd.in-toto+json\""
cmp "$(blob slsa "$(jq -r '.layers[0].digest' "$attached")")" statement.json
assert_json statement.json ".predicateType == \"https://slsa.dev/provenance/v1\" and .subject[0].digest.sha256 == \"$(image_digest slsa ir | cut -d: -f2)\""
assert_json statement.json ".predicate.buildDefinition.resolvedDependencies[0] |
  .digest.gitCommit == \"$commit\" and .uri == \"git+https://example.org/hello.git@$commit\""
assert_json statement.json '.predicate.buildDefinition.resolvedDependencies | any(.uri // "" | startswith("pkg:deb/debian/libc6@"))'
assert_json statement.json '.predicate.runDetails == {builder: {id: "https://ci.example.org/1", version: .predicate.runDetails.builder.version}}'
"$XAAS" build src -o oci:slsa:ir --provenance again.json --builder-id https://ci.example.org/1 -q >/dev/null
cmp statement.json again.json
GITLAB_CI=true CI_PROJECT_URL=https://gitlab.example.org/hpc/hello CI_RUNNER_ID=3 "$XAAS" build src -o oci:slsa:ir --provenance again.json -q >/dev/null
expect_equal "builder" "$(json again.json .predicate.runDetails.builder.id)" https://gitlab.example.org/hpc/hello/-/runners/3
"$XAAS" copy oci:slsa:ir oci:copied:ir --format json -q >copied.json
assert_json copied.json '[.referrers[].artifact_type] == ["application/vnd.in-toto+json"]'
