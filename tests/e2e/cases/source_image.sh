#!/bin/bash
# A source image and the images deployed from it, by an ordinary user, for this machine and for another CPU: the deployed ones
# have nothing of the toolchain but what the program needs.
source "$E2E/lib.sh"
needs jq bwrap gcc
toolchain_image tools gcc gcc libc6-dev
tiny_project src
cat >src/xaas.json <<'END'
{"name": "hello", "version": "3", "license": "MIT", "build": {"system": "make"},
 "specializations": [{"name": "speed", "category": "other", "default": "safe",
   "values": [{"value": "safe", "arguments": ["CFLAGS=-O2"]},
              {"value": "fast", "arguments": ["CFLAGS=-O3 -DFAST"], "requires": {"cpu": ["avx512f"]}}]}],
 "image": {"entrypoint": ["/usr/local/bin/hello"]}}
END
expect_error 2 "needs a toolchain" "$XAAS" build src --kind source -o oci:app:none -q
"$XAAS" build src --kind source --base oci:tools:gcc -o oci:app:source -q >/dev/null
valid_bundle app source
"$XAAS" build src --kind source --base oci:tools:gcc -o oci:again:source -q >/dev/null
expect_equal "the same again" "$(image_digest again source)" "$(image_digest app source)"

# Its description.
"$XAAS" inspect oci:app:source --format json >source.json
assert_json source.json '.version == 1 and .kind == "source" and .name == "hello" and .llvm == null'
assert_json source.json '[.specializations[].name] == ["speed"] and (has("sharing") | not)'
assert_json source.json '[.configurations[].id] == ["speed=safe", "speed=fast"] and all(.configurations[]; .form == "source" and .units == null)'
assert_json source.json '.toolchain | (.base | startswith("sha256:")) and .packages == [] and .stored_bytes > 1000000 and .source_bytes > 0'
assert_json source.json '[.layers[].role] == ["base", "metadata", "source"] and all(.layers[]; .configurations == ["speed=safe", "speed=fast"])'
expect_equal "the toolchain's image" "$(json source.json .toolchain.base)" "$(image_digest tools gcc)"
expect_equal "the toolchain's layer" "$(json source.json '.layers[0].digest')" "$(image_blobs tools gcc | tail -n 1)"
"$XAAS" inspect oci:app:source >source.txt
grep -q '^toolchain *sha256:[0-9a-f]* (' source.txt || fail "not shown: $(cat source.txt)"

# Selection is as usual; --dry-run builds nothing.
"$XAAS" deploy oci:app:source --dry-run --explain --cpu haswell --format json >dry.json
assert_json dry.json '.form == "source" and .build == null and .digest == null and .configuration == {"speed": "safe"}'
"$XAAS" deploy oci:app:source --dry-run --explain --cpu skylake-avx512 >dry.txt
grep -q '^would be built from source$' dry.txt || fail "not said: $(cat dry.txt)"
grep -q 'speed=fast' dry.txt || fail "not chosen: $(cat dry.txt)"
expect_error 3 "avx512f" "$XAAS" deploy oci:app:source --dry-run --cpu haswell --set speed=fast
expect_error 2 "--lto" "$XAAS" deploy oci:app:source --dry-run --lto --cpu haswell
expect_error 2 "nothing" "$XAAS" deploy oci:app:source -o oci:app:x --cpu haswell --runtime nothing
expect_error 2 "--reuse" "$XAAS" deploy oci:app:source -o oci:place:x --reuse oci:place --runtime host --cpu haswell
[ ! -e "$XAAS_CACHE_DIR/trees" ] || fail "the toolchain was unpacked"

deploying_user
layout=$PWD/app
cd "$elsewhere"
deploy() { "${as_user[@]}" "$XAAS" deploy "oci:$layout:source" --runtime bwrap -q --format json "$@"; }
deploy -o oci:here:safe --cpu haswell --set speed=safe >safe.json
assert_json safe.json '.form == "source" and .target.cpu == "haswell" and .modules == {"lowered": 0, "cached": 0, "unneeded": 0} and .links == 0'
assert_json safe.json '.build | .runtime == "bwrap" and (.compiler | test("gcc")) and .flags[0] == "-march=haswell"'
deploy -o oci:here:again --cpu haswell -j 1 >again.json
expect_equal "the same again" "$(json again.json .digest)" "$(json safe.json .digest)"
deploy -o oci:here:v2 --cpu x86-64-v2 --sbom sbom.json >v2.json
assert_json v2.json '.build.flags == ["-march=x86-64-v2"]'
# Without features that a virtual machine hides.
"$XAAS" detect --cpu haswell --format json | jq '.cpu.features -= ["bmi2", "fma"]' >system.json
deploy -o oci:here:lacking --system system.json >lacking.json
assert_json lacking.json '.build.flags[0] == "-march=haswell" and (.build.flags | index("-mno-bmi2") != null and index("-mno-fma") != null)'
expect_equal "what runs" "$("${as_user[@]}" "$XAAS" run -q --runtime bwrap oci:here:v2)" "hello 7.484471"
"${as_user[@]}" "$XAAS" check oci:here:v2 --cpu x86-64-v2 >/dev/null
[ -z "$(ls -A tmp)" ] || fail "left in TMPDIR: $(ls -A tmp)"

# The deployed image has no compilers, no sources and no path of this machine. Its C library is complete, because a host's GPU
# driver needs parts that the program does not.
"${as_user[@]}" "$XAAS" copy -q oci:here:v2 rootfs:root >/dev/null
(cd root && find . -type f -size +0) | LC_ALL=C sort >files
grep -qx './usr/local/bin/hello' files || fail "no program: $(cat files)"
for part in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
  grep -q "/$part\$" files || fail "no $part: $(cat files)"
done
! grep -vE '^\./\.xaas/image\.json$|^\./etc/(rc|environment)$|/(hello|lib(c|m)\.so\.6|lib(dl|resolv)\.so\.2|lib(rt|util|anl)\.so\.1|libpthread\.so\.0|libgcc_s\.so\.1|ld-linux[^/]*)$' files || fail "more than it needs"
! grep -rlF "$elsewhere" root || fail "a path of this machine is in it"
"$XAAS" inspect oci:here:v2 --format json >deployed.json
assert_json deployed.json '.kind == "deployed" and [.layers[].role] == ["runtime", "application"]'
expect_equal "made from" "$(json deployed.json .made_from)" "$(image_digest "$layout" source)"
# Packages, as the toolchain knows them.
assert_json sbom.json 'any(.packages[]; .name == "libc6" and (.versionInfo | length > 0)) and all(.packages[]; .name != "gcc-12")'
assert_json sbom.json 'any(.files[]; .fileName == "./usr/local/bin/hello")'

# An existing deployed image is reused instead of a build.
deploy -o oci:shared:one --reuse oci:shared --cpu x86-64-v2 >one.json
assert_json one.json '.reused == null'
deploy -o oci:shared:two --reuse oci:shared --cpu x86-64-v2 >two.json
assert_json two.json '.build == null and (.reused | startswith("oci:shared:xaas-"))'
expect_equal "what is reused" "$(json two.json .digest)" "$(json one.json .digest)"
deploy -o oci:shared:three --reuse oci:shared --cpu x86-64-v3 >three.json
assert_json three.json '.reused == null'
