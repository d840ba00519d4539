#!/bin/bash
# Deploying needs only the image: no sources, no compiler, no other program, no privilege.
source "$E2E/lib.sh"
needs jq cmake ninja clang-22 env

cp -r "$REPO/examples/soft-spheres" src
"$XAAS" build src -o oci:app:ir --config threads=openmp,isa=x86-64
"$XAAS" deploy oci:app:ir -o oci:app:before --cpu x86-64-v3
want=$(image_digest app before)
rm -rf src "$XAAS_CACHE_DIR"

mkdir -m 1777 place
cp "$XAAS" place/xaas
chmod 755 place/xaas
cp -r app place/app
chmod -R a+rX place/app
place=$PWD/place
cd place
mkdir -m 1777 out home
as_nobody HOME="$place/home" "$place/xaas" deploy oci:app:ir -o oci:out/app:after --cpu x86-64-v3 --offline
expect_equal "digest of the deployed image" "$(image_digest out/app after)" "$want"
