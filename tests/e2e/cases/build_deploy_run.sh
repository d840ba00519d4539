#!/bin/bash
# The whole way: an application becomes an IR image, is deployed for this machine, and runs in a container with the
# result of an ordinary build.
source "$E2E/lib.sh"
needs jq podman runc cmake ninja clang-22

example=$REPO/examples/soft-spheres
"$XAAS" build "$example" -o oci:app:ir --config threads=openmp,isa=x86-64 --config threads=openmp,isa=x86-64-v3 --format json >build.json
valid_bundle app ir
"$XAAS" inspect oci:app:ir --format json >ir.json
assert_json ir.json '.version == 1 and .kind == "ir" and .name == "soft-spheres"'
assert_json ir.json '.configurations | length == 2 and all(.native_objects == 0 and .programs == 2)'
assert_json ir.json '.sharing.modules < .sharing.units and .sharing.module_bytes < .sharing.unit_bytes'

"$XAAS" deploy oci:app:ir -o oci:app:here --format json >deploy.json
assert_json deploy.json '.modules.lowered > 0 and .modules.cached == 0 and .native_objects == 0 and .links == 2'
assert_json deploy.json '.configuration.threads == "openmp"'
expect_equal "digest of the deployed image" "$(image_digest app here)" "$(json deploy.json .digest)"

run_image app here --steps 20 --threads 2 >deployed.txt

cmake -S "$example" -B plain -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22
cmake --build plain
plain/soft-spheres --steps 20 --threads 1 >plain.txt
expect_equal "result in the container" "$(result_of deployed.txt)" "$(result_of plain.txt)"
