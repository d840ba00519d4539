#!/bin/bash
# Several targets under one name: the index that deploying writes, what run and check take from it, copies, and SBOMs.
source "$E2E/lib.sh"
needs jq make clang-22 skopeo qemu-x86_64

tiny_choices src
"$XAAS" build src -o oci:app:ir -q >out.txt
export HOME=$PWD/home XDG_CONFIG_HOME='' XAAS_SITE_CONFIG=$PWD/site/config.json
mkdir home

# The entries are those of single deploys, weakest first whatever the order of the arguments; equal ones are one.
for cpu in nehalem haswell x86-64; do
  "$XAAS" deploy oci:app:ir --cpu $cpu -o oci:single:$cpu -q >out.txt
done
"$XAAS" deploy oci:app:ir --cpu haswell,x86-64,nehalem,haswell -o oci:out:app --format json -q >deploy.json
index=out/blobs/sha256/$(jq -r '.digest | ltrimstr("sha256:")' deploy.json)
expect_equal "digests in the index" "$(jq -r '.manifests[].digest' "$index")" \
  "$(for cpu in x86-64 nehalem haswell; do image_digest single $cpu; done)"
assert_json deploy.json '[.images[].target.cpu] == ["x86-64", "nehalem", "haswell"] and ([.images[].digest] | unique | length) == 3
  and (.images[0] | has("version") or has("image") | not)'
assert_json "$index" '[.manifests[].platform.variant] == [null, "v2", "v3"]'
assert_json "$index" '[.manifests[].annotations."dev.xaas.cpu"] == ["x86-64", "nehalem", "haswell"]'
assert_json "$index" '.manifests[2].annotations."dev.xaas.features" | split(",") | index("avx2") != null'
assert_json "$index" '.annotations | has("dev.xaas.made-from") and (has("dev.xaas.cpu") | not)'
"$XAAS" deploy oci:app:ir --cpu nehalem,x86-64,haswell -o oci:again:app -q >table
expect_equal "index again" "$(image_digest again app)" "$(image_digest out app)"
finds -F "oci:again:app $(image_digest out app)" <table || fail "the table: $(cat table)"
# A single CPU gives an image as before.
expect_equal "media type of one" "$(jq -r '.manifests[0].mediaType' single/index.json)" application/vnd.oci.image.manifest.v1+json

# Clients that know nothing of features take the first.
skopeo copy --override-arch amd64 -q oci:out:app dir:taken
expect_equal "what skopeo takes" "sha256:$(sha256sum taken/manifest.json | cut -d' ' -f1)" "$(image_digest single x86-64)"
"$XAAS" copy oci:out:app oci-archive:app.tar -q >out.txt
"$XAAS" copy oci-archive:app.tar oci:copied:app -q >out.txt
expect_equal "a copy's digest" "$(image_digest copied app)" "$(image_digest out app)"

# check and run take the best that the node can run.
checked() { # ARGUMENT...
  "$XAAS" check "$@" --format json | jq -r .deployed_for
}
expect_equal "for Haswell" "$(checked oci:out:app --cpu haswell)" haswell
expect_equal "for Zen 4" "$(checked oci:out:app --cpu znver4)" haswell
expect_equal "for Sandy Bridge" "$(checked oci:out:app --cpu sandybridge)" nehalem
expect_equal "for Core 2" "$(checked oci:out:app --cpu core2)" x86-64
"$XAAS" deploy oci:app:ir --cpu haswell,znver4 -o oci:out:new -q >out.txt
expect_error 3 'none of its images is for this CPU (nehalem): that for haswell needs' "$XAAS" check oci:out:new --cpu nehalem
taken_on() { # QEMU-CPU IMAGE: the digest of the image whose tree is run there
  qemu-x86_64 -cpu "$1" "$XAAS" run --print --format json "$2" hello >run.json 2>run.log || fail "run: $(cat run.log)"
  jq -r '.command[] | select(test("/trees/[0-9a-f]{64}")) | capture("/trees/(?<hex>[0-9a-f]{64})").hex' run.json | sort -u | sed 's/^/sha256:/'
}
if command -v bwrap ch-run podman >/dev/null; then
  expect_equal "run on Haswell" "$(taken_on Haswell oci:out:app)" "$(image_digest single haswell)"
  expect_equal "run on Nehalem" "$(taken_on Nehalem oci:out:app)" "$(image_digest single nehalem)"
  expect_equal "run on Core 2" "$(taken_on Conroe oci:out:app)" "$(image_digest single x86-64)"
  expect_error 3 'none of its images is for this CPU' qemu-x86_64 -cpu Nehalem "$XAAS" run oci:out:new hello
  qemu-x86_64 -cpu Nehalem "$XAAS" run --print --no-check oci:out:new hello >out.txt
  # Ranks that a launcher started on nodes of both kinds: one tells.
  rank() { # QEMU-CPU
    PMI_RANK=1 SLURM_JOB_ID=7 SLURM_STEP_ID=0 qemu-x86_64 -cpu "$1" "$XAAS" run oci:out:app hello >>out.txt 2>>ranks.txt
  }
  { rank Haswell && rank Nehalem; } || fail "ranks: $(cat ranks.txt)"
  expect_equal "what ranks tell" "$(grep -c 'different images' ranks.txt)" 1
  grep -q 'those for haswell and for nehalem' ranks.txt || fail "what ranks tell: $(cat ranks.txt)"
else
  echo "not run: without a container runtime"
fi

# Machines with names.
expect_error 4 'no machine has a name' "$XAAS" deploy oci:app:ir --all-machines -o oci:out:x -q
"$XAAS" detect --cpu haswell --save new -q >out.txt
"$XAAS" deploy oci:app:ir --all-machines -o oci:out:one --format json -q >one.json
assert_json one.json '[.images[].target.cpu] == ["haswell"]'
"$XAAS" detect --cpu x86-64 --save old --site -q >out.txt
"$XAAS" deploy oci:app:ir --all-machines -o oci:out:all -q >out.txt
"$XAAS" deploy oci:app:ir --system new --system old -o oci:out:both -q >out.txt
expect_equal "named and all" "$(image_digest out all)" "$(image_digest out both)"
"$XAAS" deploy oci:app:ir --all-machines --dry-run --format json >dry.json
assert_json dry.json '.digest == null and (.images | length) == 2'

expect_error 2 'replaces the CPU of one machine' "$XAAS" deploy oci:app:ir --system new --system old --cpu haswell -o oci:out:x -q
expect_error 2 '--all-machines' "$XAAS" deploy oci:app:ir --all-machines --cpu haswell -o oci:out:x -q
expect_error 2 'an SBOM describes one image' "$XAAS" deploy oci:app:ir --cpu haswell,nehalem -o oci:out:x --sbom sbom.json -q
expect_error 2 haswel "$XAAS" deploy oci:app:ir --cpu haswel,nehalem -o oci:out:x -q
[ ! -e tree ] || fail "a refused deploy left a tree"
jq -e '[.manifests[].annotations."org.opencontainers.image.ref.name"] | index("x") == null' out/index.json >out.txt || fail "a refused deploy wrote x"

expect_error 2 'SBOMs can be attached in a registry or a layout' "$XAAS" deploy oci:app:ir --cpu haswell,nehalem -o oci-archive:x.tar --attach-sbom -q
[ ! -e x.tar ] || fail "a refused deploy wrote an archive"
expect_error 2 'is empty' "$XAAS" deploy oci:app:ir --system '' --system new -o oci:out:x -q
"$XAAS" deploy oci:app:ir --cpu haswell,nehalem --dry-run --explain -q >explained
grep -c '^target ' explained >count
expect_equal "explained targets" "$(cat count)" 2
[ -z "$(tail -c 1 explained)" ] || fail "no line end: $(tail -n 3 explained)"

# Features decide over the order, whatever level the description of a system states.
jq '.cpu.level = "x86-64"' home/.config/xaas/machines/new.json >lying.json
"$XAAS" deploy oci:app:ir --system ./lying.json --system old -o oci:out:ordered --format json -q >ordered.json
assert_json ordered.json '[.images[].target.cpu] == ["x86-64", "haswell"]'

# Two machines with the same CPU and different images have no order.
jq '.specializations[0].values[1].requires = {"gpu": {"vendor": "nvidia"}}' src/xaas.json >with-gpu.json
jq '.gpus = [{"vendor": "nvidia", "model": "A", "arch": "sm_80"}]' home/.config/xaas/machines/new.json >gpu.json
"$XAAS" build with-gpu.json --source src -o oci:gpu:ir -q >out.txt
expect_error 2 'have the same CPU and device code, and different images' "$XAAS" deploy oci:gpu:ir --system ./gpu.json --system new -o oci:out:x -q

# A file tree is what this machine runs.
"$XAAS" copy oci:out:app rootfs:tree -q >out.txt
expect_equal "the tree's image" "$(jq -r '.annotations."dev.xaas.cpu"' tree/.xaas/image.json)" "$(checked oci:out:app)"

# SBOMs and images to be found again are those of single deploys.
"$XAAS" deploy oci:app:ir --cpu haswell,nehalem -o oci:out:described --attach-sbom --reuse oci:out --format json -q >sboms.json
assert_json sboms.json '[.images[].sbom != null] == [true, true]'
"$XAAS" deploy oci:app:ir --cpu haswell -o oci:out:found --reuse oci:out --format json -q >found.json
assert_json found.json '.reused != null and .modules.lowered == 0'
"$XAAS" deploy oci:app:ir --cpu nehalem,haswell -o oci:out:refound --reuse oci:out --format json -q >found.json
assert_json found.json '[.images[].reused != null] == [true, true]'
expect_equal "the same index" "$(image_digest out refound)" "$(image_digest out described)"
"$XAAS" inspect oci:out:app --format json >inspect.json
assert_json inspect.json '.kind == "index" and [.images[].target.cpu] == ["x86-64", "nehalem", "haswell"]'
