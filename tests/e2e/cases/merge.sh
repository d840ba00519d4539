#!/bin/bash
# Configurations that separate jobs build in their own directories and `xaas merge` unites: the image of one build of all.
source "$E2E/lib.sh"
needs jq cmake ninja make clang-22
mkdir tmp
export TMPDIR=$PWD/tmp

chosen=(threads=none,isa=x86-64 threads=openmp,isa=x86-64 threads=openmp,isa=x86-64-v3)
job() { # N CONFIGURATION: a build cannot tell this from another machine
  mkdir -p "job-$1/deep/er" "job-$1/tmp"
  cp -r "$REPO/examples/soft-spheres" "job-$1/deep/er/src-$1"
  (cd "job-$1" && XAAS_CACHE_DIR=$PWD/cache TMPDIR=$PWD/tmp "$XAAS" build "deep/er/src-$1" --config "$2" -o oci:out:ir -j 1 -q >/dev/null)
}
images=()
for n in 0 1 2; do
  job $n "${chosen[n]}"
  images+=("oci:job-$n/out:ir")
done
cp -r "$REPO/examples/soft-spheres" spheres # a copy has no revision, like those of the jobs
"$XAAS" build spheres "${chosen[@]/#/--config=}" -o oci:whole:ir -q --format json >built.json
valid_bundle whole ir
whole=$(json built.json .digest)

"$XAAS" merge "${images[@]}" -o oci:merged:ir -q --format json >merged.json
expect_equal "digest" "$(json merged.json .digest)" "$whole"
expect_equal "digest in the layout" "$(image_digest merged ir)" "$whole"
while read -r digest; do
  cmp "$(blob merged "$digest")" "$(blob whole "$digest")"
done < <(image_blobs whole ir)
assert_json merged.json '.name == "soft-spheres" and (.inputs | length) == 3 and (.images | length) == 1 and .images[0].arch == "x86_64" and .images[0].digest == .digest'
expect_equal "sharing" "$(jq -c '.images[0].sharing' merged.json)" "$(jq -c '.sharing | del(.preprocessed_texts)' built.json)"
expect_equal "configurations" "$(jq -c '[.images[0].configurations[] | {id, units, modules, programs}]' merged.json)" \
  "$(jq -c '[.configurations[] | {id, units, modules, programs}]' built.json)"
assert_json merged.json '.inputs[2] == {image: "oci:job-2/out:ir", digest: .inputs[2].digest, arch: "x86_64", configurations: ["isa=x86-64-v3,threads=openmp"]}'

# In another order, in steps, with a repeated image, from and to archives.
"$XAAS" merge "${images[2]}" "${images[1]}" "${images[0]}" "${images[1]}" -o oci:merged:other -q >/dev/null
expect_equal "another order" "$(image_digest merged other)" "$whole"
"$XAAS" merge "${images[2]}" "${images[0]}" -o part.tar -q >/dev/null
"$XAAS" merge part.tar "${images[1]}" "${images[0]}" -o whole.tar -q --format json >steps.json
expect_equal "in steps" "$(json steps.json .digest)" "$whole"
"$XAAS" merge oci:whole:ir -o oci:merged:alone -q | tail -n 1 >alone
expect_equal "an image alone" "$(cat alone)" "oci:merged:alone $whole"

# The merged image works.
"$XAAS" deploy oci:merged:ir -o rootfs:here -q >/dev/null
here/usr/local/bin/soft-spheres >output
result_of output >/dev/null

# Levels of --isa: the merged point has all of them.
tiny_choices src
for level in x86-64-v3 x86-64; do
  "$XAAS" build src --isa $level -o oci:levels:$level -q >/dev/null
done
"$XAAS" build src --isa x86-64,x86-64-v3 -o oci:levels:both -q >/dev/null
"$XAAS" merge oci:levels:x86-64-v3 oci:levels:x86-64 -o oci:levels:merged -q >/dev/null
expect_equal "levels" "$(image_digest levels merged)" "$(image_digest levels both)"

# Programs that contain the path of their build directory: two concurrent jobs in one temporary directory.
mkdir placed
cat >placed/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.20)
project(placed C)
file(WRITE ${CMAKE_BINARY_DIR}/where.h "#define WHERE \"${CMAKE_BINARY_DIR} ${MODE}\"\n")
add_executable(placed placed.c)
target_include_directories(placed PRIVATE ${CMAKE_BINARY_DIR})
install(TARGETS placed)
EOF
printf '#include <stdio.h>\n#include "where.h"\nint main(void) { puts(WHERE); return 0; }\n' >placed/placed.c
cat >placed/xaas.json <<'EOF'
{"name": "placed", "isa": [], "build": {"system": "cmake"}, "specializations": [{"name": "mode", "category": "other",
  "values": [{"value": "a", "arguments": ["-DMODE=a"]}, {"value": "b", "arguments": ["-DMODE=b"]}]}]}
EOF
builds=()
for mode in a b; do
  XAAS_CACHE_DIR=$PWD/cache-$mode "$XAAS" build placed --config mode=$mode -o oci:placed-$mode:ir -q >/dev/null &
  builds+=($!)
done
for build in "${builds[@]}"; do wait "$build"; done
"$XAAS" build placed -o oci:placed-both:ir -q --format json >placed.json
assert_json placed.json '[.warnings[] | select(.kind == "path")] | length >= 2'
"$XAAS" merge oci:placed-b:ir oci:placed-a:ir -o oci:placed-merged:ir -q >/dev/null
expect_equal "programs that keep a path" "$(image_digest placed-merged ir)" "$(json placed.json .digest)"

# The merged image has the latest date.
for n in 1 2; do
  speed=$([ $n = 1 ] && echo safe || echo fast)
  SOURCE_DATE_EPOCH=$((n * 1000)) "$XAAS" build src --config "isa=x86-64,speed=$speed" \
    -o oci:dated:$n -q >/dev/null
  SOURCE_DATE_EPOCH=$((n * 1000)) "$XAAS" build src --config isa=x86-64,speed=safe --config isa=x86-64,speed=fast \
    -o oci:dated:both-$n -q >/dev/null
done
"$XAAS" merge oci:dated:2 oci:dated:1 -o oci:dated:merged -q >/dev/null
expect_equal "the later date" "$(image_digest dated merged)" "$(image_digest dated both-2)"
SOURCE_DATE_EPOCH=1000 "$XAAS" merge oci:dated:2 oci:dated:1 -o oci:dated:merged -q >/dev/null
expect_equal "a date" "$(image_digest dated merged)" "$(image_digest dated both-1)"

# The same configuration from other sources and with other flags.
cp -r src other
sed -i 's/1000/2000/' other/hello.c
"$XAAS" build other --isa x86-64 -o oci:levels:other -q >/dev/null
expect_error 1 'configuration isa=x86-64,speed=safe is not the same in oci:levels:x86-64 and oci:levels:other: they differ in the IR of hello.c' \
  "$XAAS" merge oci:levels:x86-64 oci:levels:other -o oci:levels:bad -q
cp src/hello.c other/
sed 's/"CFLAGS=-O2"/"CFLAGS=-O3"/' src/xaas.json >other/xaas.json
"$XAAS" build other --isa x86-64 -o oci:levels:other -q >/dev/null
expect_error 2 'point speed: oci:levels:x86-64 has {' "$XAAS" merge oci:levels:x86-64 oci:levels:other -o oci:levels:bad -q
sed 's/"isa": .*\],/"isa": ["x86-64"], "version": "2",/' src/xaas.json >other/xaas.json
"$XAAS" build other --isa x86-64 -o oci:levels:other -q >/dev/null
expect_error 2 'versions of the application: oci:levels:x86-64 has 0, oci:levels:other has 2' \
  "$XAAS" merge oci:levels:x86-64 oci:levels:other -o oci:levels:bad -q
expect_error 2 'applications: oci:levels:x86-64 has hello, oci:whole:ir has soft-spheres' \
  "$XAAS" merge oci:levels:x86-64 oci:whole:ir -o oci:levels:bad -q
"$XAAS" deploy oci:levels:both --set speed=safe -o oci:levels:here -q >/dev/null
expect_error 2 'not an IR or source image' "$XAAS" merge oci:levels:x86-64 oci:levels:here -o oci:levels:bad -q
expect_error 4 'nowhere' "$XAAS" merge oci:levels:x86-64 oci:nowhere:ir -o oci:levels:bad -q
expect_error 2 'rootfs:tree' "$XAAS" merge oci:levels:x86-64 -o rootfs:tree -q
jq -e '[.manifests[].annotations["org.opencontainers.image.ref.name"]] | index("bad") == null' levels/index.json >/dev/null ||
  fail "a merge that failed wrote an image"
[ -z "$(ls tmp)" ] || fail "temporary directories stay"
